/* caller.c: see caller.h. */
#include "caller.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "mounting.h"

/* ---- options --------------------------------------------------------------------------------- */

static int refuse(mcp_error *error, const char *why)
{
    return common_refuse(error, MCP_EINVAL, "run_as", why);
}

/* Copies a string. NUL within it would make it another one for the database. */
static int copy_text(const mcp_allocator *alloc, mcp_str text, char **ret, mcp_error *error)
{
    *ret = NULL;
    if (!text.ptr)
        return MCP_OK;
    if (memchr(text.ptr, 0, text.len))
        return refuse(error, "a text contains NUL");
    *ret = common_copy(alloc, text.ptr, text.len);
    return *ret ? MCP_OK : MCP_ENOMEM;
}

/* A custom setting has a dot in its name. All others are PostgreSQL's own, such as role. */
static bool is_custom(const char *name)
{
    size_t dots = 0;
    for (const char *p = name; *p; p++) {
        bool first = p == name || p[-1] == '.', dot = *p == '.';
        bool begins = isalpha((unsigned char)*p) || *p == '_';
        if (first ? !begins : !begins && !dot && !isdigit((unsigned char)*p))
            return false;
        dots += dot;
    }
    return dots && name[strlen(name) - 1] != '.' && strlen(name) <= POSTGRES_ROLE_MAX;
}

static int add_setting(postgres_callers *all, const mcp_allocator *alloc, mcp_str name,
                       mcp_str claim, mcp_error *error)
{
    if (all->n_setting == POSTGRES_SETTINGS + 1)
        return refuse(error, "there are more than 16 settings");
    postgres_setting *to = &all->setting[all->n_setting++];
    int rc = copy_text(alloc, name, &to->name, error);
    if (rc == MCP_OK)
        rc = copy_text(alloc, claim, &to->claim, error);
    if (rc == MCP_OK && (!to->name || !is_custom(to->name)))
        rc = refuse(error, "the name of a setting needs a dot, such as app.tenant");
    return rc;
}

/* "none" is not a role for PostgreSQL, even in quotes: it means the login role. */
static int add_role(postgres_callers *all, const mcp_allocator *alloc, mcp_str value, mcp_str name,
                    mcp_error *error)
{
    postgres_role *to = &all->role[all->n_role++];
    to->tables.alloc = *alloc;
    int rc = copy_text(alloc, value, &to->value, error);
    if (rc == MCP_OK)
        rc = copy_text(alloc, name, &to->name, error);
    if (rc != MCP_OK)
        return rc;
    if (!to->name || !name.len || name.len > POSTGRES_ROLE_MAX)
        return refuse(error, "the name of a role has 1 to 63 bytes");
    return strcmp(to->name, "none") == 0 ? refuse(error, "\"none\" is not a role") : MCP_OK;
}

static int load_roles(postgres_callers *all, const mcp_allocator *alloc, const mcp_json *roles,
                      mcp_error *error)
{
    size_t n = mcp_json_count(roles);
    mcp_json_iter it = {0};
    mcp_str value;
    int rc = MCP_OK;
    if (!mcp_json_is(roles, MCP_JSON_OBJECT) || !n || n > POSTGRES_ROLES)
        return refuse(error, "\"roles\" must be an object with 1 to 1000 members");
    all->role = common_alloc(alloc, n * sizeof(*all->role));
    if (!all->role)
        return MCP_ENOMEM;
    memset(all->role, 0, n * sizeof(*all->role));
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(roles, &it, &value)) != NULL;)
        rc = add_role(all, alloc, value, mcp_json_string(v), error);
    return rc;
}

static int load_settings(postgres_callers *all, const mcp_allocator *alloc, const mcp_json *from,
                         mcp_error *error)
{
    mcp_str claims = mcp_json_string(mcp_json_get(from, "claims")), name;
    const mcp_json *settings = mcp_json_get(from, "settings");
    mcp_json_iter it = {0};
    int rc = claims.ptr ? add_setting(all, alloc, claims, (mcp_str){0}, error) : MCP_OK;
    if (!mcp_json_is(settings, MCP_JSON_OBJECT))
        return rc;
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(settings, &it, &name)) != NULL;) {
        mcp_str claim = mcp_json_string(v);
        rc = claim.len ? add_setting(all, alloc, name, claim, error)
                       : refuse(error, "a setting needs the name of a claim");
    }
    return rc;
}

int postgres_callers_load(postgres_callers *all, const mcp_allocator *alloc, const mcp_json *from,
                          mcp_error *error)
{
    if (!mcp_json_is(from, MCP_JSON_OBJECT))
        return MCP_OK;
    all->on = true;
    int rc = copy_text(alloc, mcp_json_string(mcp_json_get(from, "claim")), &all->claim, error);
    if (rc == MCP_OK)
        rc = copy_text(alloc, mcp_json_string(mcp_json_get(from, "issuer")), &all->issuer, error);
    if (rc == MCP_OK && all->issuer && !all->claim)
        rc = refuse(error, "\"issuer\" needs \"claim\"");
    if (rc == MCP_OK)
        rc = load_roles(all, alloc, mcp_json_get(from, "roles"), error);
    if (rc == MCP_OK)
        rc = load_settings(all, alloc, from, error);
    all->own_login = mcp_json_bool(mcp_json_get(from, "own_login"), false);
    if (rc == MCP_OK && all->own_login && all->n_setting)
        rc = refuse(error, "with own_login there are no settings, because a query could change "
                           "them: policies must use current_user");
    if (rc == MCP_OK && !all->own_login && mcp_json_get(from, "logins"))
        rc = refuse(error, "\"logins\" needs \"own_login\"");
    return rc;
}

void postgres_callers_clear_tables(postgres_callers *all)
{
    for (size_t i = 0; i < all->n_role; i++)
        postgres_tables_clear(&all->role[i].tables);
}

void postgres_callers_free(postgres_callers *all, const mcp_allocator *alloc)
{
    postgres_callers_clear_tables(all);
    for (size_t i = 0; i < all->n_role; i++) {
        common_release(alloc, all->role[i].value);
        common_release(alloc, all->role[i].name);
        common_release(alloc, all->role[i].conninfo);
    }
    for (size_t i = 0; i < all->n_setting; i++) {
        common_release(alloc, all->setting[i].name);
        common_release(alloc, all->setting[i].claim);
    }
    common_release(alloc, all->role);
    common_release(alloc, all->claim);
    common_release(alloc, all->issuer);
    *all = (postgres_callers){.on = false};
}

/* ---- the role of a caller -------------------------------------------------------------------- */

static postgres_role *role_of(const postgres_callers *all, mcp_str value)
{
    for (size_t i = 0; value.ptr && i < all->n_role; i++)
        if (mcp_str_eq(mcp_str_from(all->role[i].value), value))
            return &all->role[i];
    return NULL;
}

/* Returns the role for a claim, or NULL. If the claim is an array, such as the caller's groups, all
 * its values that are in the map must have the same role. */
static postgres_role *role_of_claim(const postgres_callers *all, const mcp_json *claim)
{
    postgres_role *found = NULL;
    mcp_json_iter it = {0};
    if (!mcp_json_is(claim, MCP_JSON_ARRAY))
        return role_of(all, mcp_json_string(claim));
    for (const mcp_json *v; (v = mcp_json_next(claim, &it, NULL)) != NULL;) {
        postgres_role *role = role_of(all, mcp_json_string(v));
        if (role && found && strcmp(role->name, found->name) != 0)
            return NULL;
        found = found ? found : role;
    }
    return found;
}

/* Another issuer could use the same claim with another meaning. */
static bool is_issuer(const postgres_callers *all, const mcp_identity *identity)
{
    const char *issuer = mcp_identity_issuer(identity);
    return all->issuer && issuer ? strcmp(all->issuer, issuer) == 0 : all->issuer == issuer;
}

static postgres_role *find_role(const postgres_callers *all, const mcp_identity *identity)
{
    if (!all->claim)
        return role_of(all, mcp_str_from(mcp_identity_principal(identity)));
    return is_issuer(all, identity)
               ? role_of_claim(all, mcp_json_get(mcp_identity_claims(identity), all->claim))
               : NULL;
}

/* ---- saved queries --------------------------------------------------------------------------- */

static bool is_in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* The functions of PostgreSQL and of its extensions that change settings, or run a text as a
 * statement. A function whose name only begins with a word of this table is found too. */
const char *postgres_changes_role(const char *sql)
{
    static const char *const words[] = {"set_config", "query_to_xml", "cursor_to_xml",
                                        "ts_stat",    "ts_rewrite",   "dblink",
                                        "crosstab",   "connectby",    "xpath_table"};
    for (const char *p = sql; *p; p++)
        for (size_t i = 0; i < sizeof(words) / sizeof(*words) && (p == sql || !is_in_name(p[-1]));
             i++)
            if (strncasecmp(p, words[i], strlen(words[i])) == 0)
                return words[i];
    return NULL;
}

/* ---- settings -------------------------------------------------------------------------------- */

/* Appends a text with its NUL. Returns MCP_OK or MCP_ENOMEM. */
static int put_text(common_buffer *to, mcp_str text)
{
    return common_buffer_append(to, text.ptr, text.len) == MCP_OK ? common_buffer_append(to, "", 1)
                                                                  : MCP_ENOMEM;
}

/* Appends the text of a claim: of a string the string itself, otherwise JSON. Returns MCP_ENOTFOUND
 * if it is missing, because "" could be the value of a row, or if it contains NUL, because the rest
 * would be ignored. */
static int put_claim(common_buffer *to, const mcp_json *value)
{
    mcp_str text = mcp_json_string(value);
    mcp_json_writer *w = NULL;
    int rc = MCP_OK;
    if (!value || mcp_json_is(value, MCP_JSON_NULL))
        return MCP_ENOTFOUND;
    if (!text.ptr) {
        w = mcp_json_writer_new(&to->alloc, 0);
        mcp_json_add_value(w, value);
        rc = mcp_json_writer_finish(w, &text);
    }
    if (rc == MCP_OK && text.len && memchr(text.ptr, 0, text.len))
        rc = MCP_ENOTFOUND;
    if (rc == MCP_OK)
        rc = put_text(to, text);
    mcp_json_writer_free(w);
    return rc;
}

static int put_settings(common_buffer *to, const postgres_callers *all, const mcp_json *claims)
{
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < all->n_setting; i++) {
        const postgres_setting *s = &all->setting[i];
        rc = put_text(to, mcp_str_from(s->name));
        if (rc == MCP_OK)
            rc = put_claim(to, s->claim ? mcp_json_get(claims, s->claim) : claims);
    }
    return rc;
}

int postgres_caller_of(postgres_callers *all, const mcp_allocator *alloc,
                       const mcp_identity *identity, void *(*give)(size_t size, void *user),
                       void *user, postgres_as **ret, postgres_role **role)
{
    common_buffer text;
    *role = find_role(all, identity);
    if (!*role)
        return MCP_ENOTFOUND;
    common_buffer_init(&text, alloc);
    int rc = put_text(&text, mcp_str_from((*role)->name));
    if (rc == MCP_OK)
        rc = put_settings(&text, all, mcp_identity_claims(identity));
    postgres_as *as = rc == MCP_OK ? give(sizeof(*as) + text.len, user) : NULL;
    if (rc == MCP_OK && !as)
        rc = MCP_ENOMEM;
    if (rc == MCP_OK) {
        *as = (postgres_as){.size = text.len, .own = all->own_login};
        memcpy(as->text, text.ptr, text.len);
        as->role = as->text;
        const char *at = as->text + strlen(as->text) + 1;
        for (; at < as->text + as->size; at += strlen(at) + 1)
            as->value[as->n++] = at;
        *ret = as;
    }
    common_buffer_free(&text);
    return rc;
}

/* The subquery's cast of a text to bool fails; the text becomes the database's message. SET ROLE comes
 * before this, so the next one looks up the role anew. */
void postgres_settings_sql(char sql[POSTGRES_SETTINGS_SQL], int n)
{
    size_t len = (size_t)snprintf(sql, POSTGRES_SETTINGS_SQL, "SELECT ");
    for (int i = 0; i < n; i++)
        len += (size_t)snprintf(sql + len, POSTGRES_SETTINGS_SQL - len,
                                "pg_catalog.set_config($%d, $%d, true), ", 2 * i + 1, 2 * i + 2);
    snprintf(sql + len, POSTGRES_SETTINGS_SQL - len,
             "(SELECT pg_catalog.concat(rolname, ' is a role without row-level security')"
             "::pg_catalog.bool FROM pg_catalog.pg_roles WHERE rolname OPERATOR(pg_catalog.=) ANY "
             "(ARRAY[current_user, session_user]) AND (rolsuper OR rolbypassrls OR rolreplication) "
             "LIMIT 1), " POSTGRES_FORGET_ROLES);
}
