ALTER TABLE workspaces
    ADD COLUMN repo text UNIQUE CHECK (repo = lower(repo)),
    ADD COLUMN billing text NOT NULL DEFAULT 'ok' CHECK (billing IN ('ok', 'suspended'));

-- An operator makes workspaces and users; the owner of the installation is one.
ALTER TABLE users ADD COLUMN operator boolean NOT NULL DEFAULT false;
UPDATE users SET operator = true WHERE id = 'owner';
ALTER TABLE users DROP CONSTRAINT users_email_key;
CREATE UNIQUE INDEX users_email ON users (lower(email));

CREATE INDEX members_member ON members (member);

-- Whatever the file in the home says is a token as well: nothing but the file changes it.
ALTER TABLE tokens ADD COLUMN from_home boolean NOT NULL DEFAULT false;
UPDATE tokens SET from_home = true WHERE holder = 'owner' AND name = 'home';
CREATE INDEX tokens_holder ON tokens (holder, created_at, id);

CREATE TABLE audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    workspace text NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    target text NOT NULL,
    detail jsonb
);
CREATE INDEX audit_workspace ON audit (workspace, id);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of % are only ever added', TG_TABLE_NAME;
END
$$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION refuse_change();
