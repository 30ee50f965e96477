"""Notes, tags and the archive: what people write on runs, beside the log."""

from collections.abc import Iterable
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool

from proctor.gateway.access.principal import Principal
from proctor.gateway.text import PlainLines
from proctor.service.postgres import Pool

MAX_NOTE: Final = 4000
MAX_TAGS: Final = 16
TAG: Final = r"^[a-z0-9][a-z0-9._-]{0,31}$"
UNMARKED: Final[dict[str, Any]] = {"note": None, "tags": [], "archived": False}

_CHANGE: Final = """
INSERT INTO gateway.run_marks AS m (workspace, run, note, tags, archived_at, archived_by)
VALUES ($1, $2, $3, $4, CASE WHEN $5 THEN now() END, CASE WHEN $5 THEN $6 END)
ON CONFLICT (workspace, run) DO UPDATE SET
    note = CASE WHEN 'note' = ANY($7) THEN excluded.note ELSE m.note END,
    tags = CASE WHEN 'tags' = ANY($7) THEN excluded.tags ELSE m.tags END,
    archived_at = CASE
        WHEN 'archived' <> ALL($7) THEN m.archived_at
        WHEN $5 THEN coalesce(m.archived_at, excluded.archived_at)
    END,
    archived_by = CASE
        WHEN 'archived' <> ALL($7) THEN m.archived_by
        WHEN $5 THEN coalesce(m.archived_by, excluded.archived_by)
    END
RETURNING note, tags, archived_at IS NOT NULL AS archived
"""


def _once(tags: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(tags))


class Marks(BaseModel):
    """What is absent stays. A note of null or without text is none; `tags` are all there are then."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    note: Annotated[PlainLines, Field(max_length=MAX_NOTE)] | None = None
    tags: Annotated[list[Annotated[str, Field(pattern=TAG)]], AfterValidator(_once), Field(max_length=MAX_TAGS)] = (
        Field(default=[])
    )
    archived: StrictBool = False


async def change(pool: Pool, who: Principal, run: str, marks: Marks) -> dict[str, Any]:
    """All marks of the run as they are then."""
    row = await pool.fetchrow(
        _CHANGE,
        who.workspace,
        run,
        (marks.note or "").strip() or None,
        marks.tags,
        marks.archived,
        who.user,
        list(marks.model_fields_set),
    )
    assert row is not None  # noqa: S101 - an upsert returns its row
    return dict(row)
