"""Task packages, manifests, locks and artifacts: bytes by name, on the bus's object store."""

from proctor.objects.store import ObjectMissing, Objects, artifact_name, digest_name

__all__ = ["ObjectMissing", "Objects", "artifact_name", "digest_name"]
