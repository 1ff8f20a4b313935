/* record.c: see record.h. */
#include "auth/record.h"

static const mcp_str none = {NULL, 0};

/* The members of an entry: strings, then one boolean and one number. */
typedef struct field {
    const char *name;
    size_t offset;
    enum { TEXT, FLAG, NUMBER } type;
} field;

static const field client_fields[] = {
    {"issuer", offsetof(mcp__record_client, issuer), TEXT},
    {"client_id", offsetof(mcp__record_client, id), TEXT},
    {"client_secret", offsetof(mcp__record_client, secret), TEXT},
    {"method", offsetof(mcp__record_client, method), TEXT},
    {"redirect_uri", offsetof(mcp__record_client, redirect_uri), TEXT},
    {"token_endpoint", offsetof(mcp__record_client, token_endpoint), TEXT},
    {"secret_expires", offsetof(mcp__record_client, secret_expires), NUMBER},
    {"tried", offsetof(mcp__record_client, tried), FLAG},
};

static const field grant_fields[] = {
    {"issuer", offsetof(mcp__record_grant, issuer), TEXT},
    {"resource", offsetof(mcp__record_grant, resource), TEXT},
    {"client_id", offsetof(mcp__record_grant, client_id), TEXT},
    {"client_secret", offsetof(mcp__record_grant, client_secret), TEXT},
    {"client_key", offsetof(mcp__record_grant, client_key), TEXT},
    {"redirect_uri", offsetof(mcp__record_grant, redirect_uri), TEXT},
    {"access_token", offsetof(mcp__record_grant, access_token), TEXT},
    {"refresh_token", offsetof(mcp__record_grant, refresh_token), TEXT},
    {"scope", offsetof(mcp__record_grant, scope), TEXT},
    {"asked", offsetof(mcp__record_grant, requested), TEXT},
    {"dpop", offsetof(mcp__record_grant, dpop), FLAG},
    {"dpop_key", offsetof(mcp__record_grant, dpop_key), TEXT},
    {"expires", offsetof(mcp__record_grant, expires), NUMBER},
    {"token_endpoint", offsetof(mcp__record_grant, token_endpoint), TEXT},
};

static const field pin_fields[] = {
    {"client_id", offsetof(mcp__record_pin, client_id), TEXT},
    {"issuer", offsetof(mcp__record_pin, issuer), TEXT},
    {"token_endpoint", offsetof(mcp__record_pin, token_endpoint), TEXT},
};

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads the fields of an entry. Returns false if one has the wrong type. */
static bool read_fields(void *entry, const mcp_json *object, const field *fields, size_t n)
{
    if (!mcp_json_is(object, MCP_JSON_OBJECT))
        return false;
    for (size_t i = 0; i < n; i++) {
        const mcp_json *value = mcp_json_get(object, fields[i].name);
        char *to = (char *)entry + fields[i].offset;
        mcp_str text = mcp_json_string(value);
        if (!value)
            continue;
        if (fields[i].type == TEXT && text.ptr)
            memcpy(to, &text, sizeof(text));
        else if (fields[i].type == FLAG && mcp_json_is(value, MCP_JSON_BOOL))
            *(bool *)(void *)to = mcp_json_bool(value, false);
        else if (fields[i].type == NUMBER && mcp_json_int(value, -1) >= 0 &&
                 mcp_json_int(value, 0) <= MCP__RECORD_SECONDS)
            *(int64_t *)(void *)to = mcp_json_int(value, 0);
        else
            return false;
    }
    return true;
}

static bool read_clients(mcp__record *ret, const mcp_json *list)
{
    mcp_json_iter iter = {0};
    for (const mcp_json *one; (one = mcp_json_next(list, &iter, NULL));) {
        mcp__record_client client = {.stored = one};
        if (!read_fields(&client, one, client_fields, MCP__COUNT(client_fields)) ||
            !client.issuer.len || !client.id.len)
            return false;
        if (ret->n_clients < MCP__RECORD_ENTRIES)
            ret->clients[ret->n_clients++] = client;
    }
    return true;
}

static bool read_grants(mcp__record *ret, const mcp_json *list)
{
    mcp_json_iter iter = {0};
    for (const mcp_json *one; (one = mcp_json_next(list, &iter, NULL));) {
        mcp__record_grant grant = {.stored = one};
        if (!read_fields(&grant, one, grant_fields, MCP__COUNT(grant_fields)) || !grant.issuer.len)
            return false;
        if (ret->n_grants < MCP__RECORD_ENTRIES)
            ret->grants[ret->n_grants++] = grant;
    }
    return true;
}

static bool read_pins(mcp__record *ret, const mcp_json *list)
{
    mcp_json_iter iter = {0};
    for (const mcp_json *one; (one = mcp_json_next(list, &iter, NULL));) {
        mcp__record_pin pin = {.stored = one};
        if (!read_fields(&pin, one, pin_fields, MCP__COUNT(pin_fields)) || !pin.issuer.len ||
            !pin.token_endpoint.len)
            return false;
        if (ret->n_pins < MCP__RECORD_ENTRIES)
            ret->pins[ret->n_pins++] = pin;
    }
    return true;
}

/* A list may be absent. */
static bool is_list(const mcp_json *value)
{
    return !value || mcp_json_is(value, MCP_JSON_ARRAY);
}

mcp__oauth_fault mcp__record_read(mcp__record *ret, mcp_str text, const mcp_allocator *allocator,
                                  mcp_error *error)
{
    memset(ret, 0, sizeof(*ret));
    mcp__no_error(error);
    if (!text.len)
        return MCP__OAUTH_OK;
    if (text.len > MCP__RECORD_BYTES)
        return mcp__oauth_fail(error, MCP__OAUTH_RECORD_SIZE, none, none);
    int rc = mcp_json_parse(text, NULL, mcp__allocator(allocator), &ret->doc, NULL);
    if (rc == MCP_ENOMEM)
        return mcp__oauth_failed(error, rc);
    const mcp_json *root = mcp_json_root(ret->doc);
    const mcp_json *clients = mcp_json_get(root, "clients"), *grants = mcp_json_get(root, "grants");
    const mcp_json *pins = mcp_json_get(root, "pins");
    int64_t version = mcp_json_int(mcp_json_get(root, "version"), 0);
    if (rc == MCP_OK && version > MCP__RECORD_VERSION)
        return mcp__oauth_fail(error, MCP__OAUTH_RECORD_VERSION, none, none);
    if (rc != MCP_OK || version < 1 || !is_list(clients) || !is_list(grants) || !is_list(pins) ||
        !read_clients(ret, clients) || !read_grants(ret, grants) || !read_pins(ret, pins)) {
        ret->n_clients = ret->n_grants = ret->n_pins = 0;
        return mcp__oauth_fail(error, MCP__OAUTH_RECORD_FORM, none, none);
    }
    return MCP__OAUTH_OK;
}

void mcp__record_clear(mcp__record *record)
{
    mcp__json_wipe(record->doc);
    memset(record, 0, sizeof(*record));
}

/* ---- finding --------------------------------------------------------------------------------- */

static bool same_key(const mcp__record_grant *a, const mcp__record_grant *b)
{
    return mcp_str_eq(a->issuer, b->issuer) && mcp_str_eq(a->resource, b->resource) &&
           mcp_str_eq(a->client_id, b->client_id);
}

const mcp__record_client *mcp__record_find_client(const mcp__record *record, mcp_str issuer)
{
    for (size_t i = 0; i < record->n_clients; i++) {
        if (mcp_str_eq(record->clients[i].issuer, issuer))
            return &record->clients[i];
    }
    return NULL;
}

const mcp__record_grant *mcp__record_find_grant(const mcp__record *record, mcp_str issuer,
                                                mcp_str resource, mcp_str client_id)
{
    const mcp__record_grant key = {.issuer = issuer, .resource = resource, .client_id = client_id};
    for (size_t i = 0; i < record->n_grants; i++) {
        if (same_key(&record->grants[i], &key))
            return &record->grants[i];
    }
    return NULL;
}

const mcp__record_pin *mcp__record_find_pin(const mcp__record *record, mcp_str client_id)
{
    for (size_t i = 0; i < record->n_pins; i++) {
        if (mcp_str_eq(record->pins[i].client_id, client_id))
            return &record->pins[i];
    }
    return NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool is_field(const field *fields, size_t n, mcp_str name)
{
    for (size_t i = 0; i < n; i++) {
        if (mcp_str_eq(name, mcp_str_from(fields[i].name)))
            return true;
    }
    return false;
}

/* Writes the fields of an entry that are not empty, then the members of `stored` that are no
 * fields. */
static void write_entry(mcp_json_writer *w, const void *entry, const field *fields, size_t n,
                        const mcp_json *stored)
{
    mcp_json_iter iter = {0};
    mcp_str name;
    mcp_json_begin_object(w);
    for (size_t i = 0; i < n; i++) {
        const char *from = (const char *)entry + fields[i].offset;
        mcp_str text = {NULL, 0};
        if (fields[i].type == TEXT)
            memcpy(&text, from, sizeof(text));
        if (fields[i].type == TEXT && text.len)
            mcp_json_put_str(w, fields[i].name, text);
        if (fields[i].type == FLAG && *(const bool *)(const void *)from)
            mcp_json_put_bool(w, fields[i].name, true);
        if (fields[i].type == NUMBER && *(const int64_t *)(const void *)from)
            mcp_json_put_int(w, fields[i].name, *(const int64_t *)(const void *)from);
    }
    for (const mcp_json *value; (value = mcp_json_next(stored, &iter, &name));) {
        if (!is_field(fields, n, name))
            mcp_json_key_str(w, name), mcp_json_add_value(w, value);
    }
    mcp_json_end(w);
}

static void write_clients(mcp_json_writer *w, const mcp__record *record,
                          const mcp__record_change *change)
{
    const mcp__record_client *set = change->client, *gone = change->forget_client;
    const mcp__record_client *old = set ? mcp__record_find_client(record, set->issuer) : NULL;
    size_t n = 0;
    mcp_json_key(w, "clients");
    mcp_json_begin_array(w);
    if (set) {
        write_entry(w, set, client_fields, MCP__COUNT(client_fields), old ? old->stored : NULL);
        n++;
    }
    for (size_t i = 0; i < record->n_clients && n < MCP__RECORD_ENTRIES && !change->logout; i++) {
        const mcp__record_client *one = &record->clients[i];
        if ((set && mcp_str_eq(one->issuer, set->issuer)) ||
            (gone && mcp_str_eq(one->issuer, gone->issuer) && mcp_str_eq(one->id, gone->id)))
            continue;
        mcp_json_add_value(w, one->stored);
        n++;
    }
    mcp_json_end(w);
}

static void write_grants(mcp_json_writer *w, const mcp__record *record,
                         const mcp__record_change *change)
{
    const mcp__record_grant *set = change->grant, *gone = change->forget_grant;
    const mcp__record_grant *old =
        set ? mcp__record_find_grant(record, set->issuer, set->resource, set->client_id) : NULL;
    size_t n = 0;
    mcp_json_key(w, "grants");
    mcp_json_begin_array(w);
    if (set) {
        write_entry(w, set, grant_fields, MCP__COUNT(grant_fields), old ? old->stored : NULL);
        n++;
    }
    for (size_t i = 0; i < record->n_grants && n < MCP__RECORD_ENTRIES && !change->logout; i++) {
        const mcp__record_grant *one = &record->grants[i];
        if ((set && same_key(one, set)) || (gone && same_key(one, gone)))
            continue;
        mcp_json_add_value(w, one->stored);
        n++;
    }
    mcp_json_end(w);
}

static void write_pins(mcp_json_writer *w, const mcp__record *record,
                       const mcp__record_change *change)
{
    const mcp__record_pin *set = change->pin;
    const mcp__record_pin *old = set ? mcp__record_find_pin(record, set->client_id) : NULL;
    size_t n = 0;
    if (!set && !record->n_pins)
        return;
    mcp_json_key(w, "pins");
    mcp_json_begin_array(w);
    if (set) {
        write_entry(w, set, pin_fields, MCP__COUNT(pin_fields), old ? old->stored : NULL);
        n++;
    }
    for (size_t i = 0; i < record->n_pins && n < MCP__RECORD_ENTRIES; i++) {
        if (&record->pins[i] == old)
            continue;
        mcp_json_add_value(w, record->pins[i].stored);
        n++;
    }
    mcp_json_end(w);
}

/* Returns whether a member of a record is written by the functions above. */
static bool is_list_name(mcp_str name)
{
    return mcp_str_eq(name, MCP_STR("version")) || mcp_str_eq(name, MCP_STR("clients")) ||
           mcp_str_eq(name, MCP_STR("grants")) || mcp_str_eq(name, MCP_STR("pins"));
}

static void write_record(mcp_json_writer *w, const mcp__record *record,
                         const mcp__record_change *change)
{
    mcp_json_iter iter = {0};
    const mcp_json *root = mcp_json_root(record->doc);
    mcp_str name;
    mcp_json_begin_object(w);
    mcp_json_key(w, "version");
    mcp_json_add_int(w, MCP__RECORD_VERSION);
    write_clients(w, record, change);
    write_grants(w, record, change);
    write_pins(w, record, change);
    for (const mcp_json *value; (value = mcp_json_next(root, &iter, &name));) {
        if (!is_list_name(name) && !change->logout)
            mcp_json_key_str(w, name), mcp_json_add_value(w, value);
    }
    mcp_json_end(w);
}

mcp__oauth_fault mcp__record_put(mcp__buf *to, const mcp__record *record,
                                 const mcp__record_change *change, mcp_error *error)
{
    mcp_json_writer *w = mcp_json_writer_new(to->allocator, MCP__RECORD_BYTES);
    mcp_str text;
    mcp__no_error(error);
    write_record(w, record, change);
    int rc = mcp_json_writer_finish(w, &text);
    if (rc == MCP_OK) {
        mcp__buf_str(to, text);
        rc = to->failed;
    }
    mcp_json_writer_free(w);
    if (rc == MCP_OK || rc == MCP_ENOMEM)
        return mcp__oauth_failed(error, rc);
    return mcp__oauth_fail(
        error, rc == MCP_ELIMIT ? MCP__OAUTH_RECORD_SIZE : MCP__OAUTH_RECORD_FORM, none, none);
}
