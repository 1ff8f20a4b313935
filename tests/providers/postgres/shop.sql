-- The database of the tests: tables with odd names and all kinds of values, a view, functions, and a role that may read.
CREATE ROLE reader LOGIN;
CREATE DATABASE shop;
\connect shop
CREATE TABLE customer(id integer PRIMARY KEY, name text NOT NULL, photo bytea, more jsonb);
COMMENT ON TABLE customer IS 'who buys';
COMMENT ON COLUMN customer.name IS 'as it is spoken';
CREATE TABLE sale(id serial PRIMARY KEY, customer integer REFERENCES customer(id), status text DEFAULT 'open', total numeric, CHECK (total >= 0));
CREATE INDEX sale_status ON sale(status);
CREATE TABLE part(a text, b integer, note text, PRIMARY KEY (b, a));
CREATE TABLE "odd name/%é?#""q"(x integer PRIMARY KEY, "limit" integer, "a ""b" text);
CREATE TABLE "$query"(x text PRIMARY KEY);
CREATE TABLE kinds(id bigint PRIMARY KEY, b boolean, f double precision, n numeric, j json, a integer[], t timestamptz, u uuid, long text);
CREATE TABLE keyless(x integer, y text);
CREATE TABLE hidden(x integer PRIMARY KEY);
CREATE VIEW open_sales AS SELECT s.id, c.name FROM sale s JOIN customer c ON c.id = s.customer WHERE status = 'open';
CREATE SCHEMA "second one";
CREATE TABLE "second one".sale(id integer PRIMARY KEY, other text);
CREATE FUNCTION total(customer integer, status text) RETURNS numeric LANGUAGE sql STABLE
    AS $$ SELECT sum(s.total) FROM sale s WHERE s.customer = total.customer AND s.status = total.status $$;
CREATE FUNCTION writes() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN INSERT INTO keyless VALUES (99, 'written'); RETURN 1; END $$;
CREATE FUNCTION breaks_out() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN
    PERFORM set_config('transaction_read_only', 'off', false); INSERT INTO keyless VALUES (98, 'written'); RETURN 1; END $$;
CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$ BEGIN COMMIT; INSERT INTO keyless VALUES (97, 'written'); END $$;
INSERT INTO customer VALUES (1, 'Ada', '\x89504e470d0a1a0a', '{"a": [1, 2.50]}'), (2, 'Grace', NULL, NULL), (20, 'Cy', '', '1');
INSERT INTO sale(customer, status, total) VALUES (1, 'open', 9.5), (1, 'paid', 20), (2, 'open', 7);
INSERT INTO part VALUES ('a/b', 1, 'n'), ('', 2, NULL), ('héllo %', 3, 'x');
INSERT INTO "odd name/%é?#""q" VALUES (1, 4, 'v');
INSERT INTO "$query" VALUES ('..'), ('a''b\c');
INSERT INTO kinds VALUES (9007199254740993, true, 'Infinity', 1.50, '{"k": 1, "k": 2}', '{1,2}', '2026-01-02 03:04:05+00', '00000000-0000-0000-0000-000000000001', repeat('x', 300000)),
    (2, false, 1e-7, 'NaN', '[true]', NULL, NULL, NULL, NULL);
INSERT INTO keyless VALUES (1, 'one'), (2, 'two');
INSERT INTO hidden VALUES (1);
CREATE FUNCTION mcp_notify() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM pg_notify('mcp_changes', json_build_object('schema', TG_TABLE_SCHEMA, 'table', TG_TABLE_NAME)::text); RETURN NULL; END $$;
CREATE TRIGGER mcp_notify AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON sale FOR EACH STATEMENT EXECUTE FUNCTION mcp_notify();
GRANT USAGE ON SCHEMA "second one" TO reader;
GRANT SELECT ON ALL TABLES IN SCHEMA public, "second one" TO reader;
GRANT INSERT, UPDATE, DELETE ON keyless TO reader;
REVOKE ALL ON hidden FROM reader;
