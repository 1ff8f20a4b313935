/* claims_identity.c: makes the identity of a caller from the claims of an accepted token. The
 * functions may run on any thread, because they use only immutable data. */
#include "auth/resource/resource.h"
#include "protocol/identity.h"

/* ---- claims ---------------------------------------------------------------------------------- */

/* Decodes one name of a JSON pointer. Returns false if it is malformed. */
static bool unescape(mcp_str part, char *to, size_t *len)
{
    *len = 0;
    for (size_t i = 0; i < part.len; i++) {
        char c = part.ptr[i];
        if (c == '~') {
            if (++i == part.len || (part.ptr[i] != '0' && part.ptr[i] != '1'))
                return false;
            c = part.ptr[i] == '0' ? '~' : '/';
        }
        to[(*len)++] = c;
    }
    return true;
}

const mcp_json *mcp__rs_claim(const mcp_json *claims, mcp_str name)
{
    char part[MCP__RS_CLAIM];
    if (!name.len || name.ptr[0] != '/')
        return mcp_json_get_str(claims, name);
    while (claims && name.len) {
        name = mcp__str_sub(name, 1);
        const char *slash = name.len ? memchr(name.ptr, '/', name.len) : NULL;
        mcp_str raw = {name.ptr, slash ? (size_t)(slash - name.ptr) : name.len};
        size_t len;
        if (raw.len > sizeof(part) || !unescape(raw, part, &len))
            return NULL;
        claims = mcp_json_get_str(claims, (mcp_str){part, len});
        name = mcp__str_sub(name, raw.len);
    }
    return claims;
}

/* ---- the principal --------------------------------------------------------------------------- */

static bool is_plain(char c)
{
    return c > ' ' && c < 0x7F && c != '%' && c != '/' && c != ';' && c != '#';
}

static void put_value(mcp__buf *to, mcp_str value)
{
    for (size_t i = 0; i < value.len; i++) {
        if (is_plain(value.ptr[i]))
            mcp__buf_char(to, value.ptr[i]);
        else
            mcp__buf_printf(to, "%%%02X", (unsigned char)value.ptr[i]);
    }
}

int mcp_auth_principal(const char *issuer, mcp_str value, char *to, size_t room, size_t *ret_len)
{
    mcp__buf b;
    if (!issuer || !*issuer || strchr(issuer, '#') || !value.len || !to || !room)
        return MCP_EINVAL;
    mcp__buf_init(&b, mcp__allocator(NULL), MCP__RS_PRINCIPAL * 4);
    mcp__buf_str(&b, mcp_str_from(issuer));
    mcp__buf_char(&b, '#');
    put_value(&b, value);
    int rc = b.failed;
    if (rc == MCP_OK && b.len >= room)
        rc = MCP_ELIMIT;
    if (rc == MCP_OK) {
        memcpy(to, b.ptr, b.len);
        to[b.len] = '\0';
        if (ret_len)
            *ret_len = b.len;
    }
    mcp__buf_free(&b);
    return rc;
}

/* Takes the next part of a principal: text, or the name of a claim. Returns false at the end. */
static bool next_part(mcp_str *rest, mcp_str *part, bool *is_claim)
{
    size_t n = 0;
    if (!rest->len)
        return false;
    *is_claim = rest->ptr[0] == '{';
    while (n < rest->len && rest->ptr[n] != (*is_claim ? '}' : '{'))
        n++;
    *part = *is_claim ? (mcp_str){rest->ptr + 1, n - 1} : (mcp_str){rest->ptr, n};
    *rest = mcp__str_sub(*rest, MCP__MIN(*is_claim ? n + 1 : n, rest->len));
    return true;
}

static bool separates(mcp_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (strchr("/;#", text.ptr[i]))
            return true;
    }
    return false;
}

int mcp__rs_principal_check(const char *text, mcp_error *error)
{
    mcp_str rest = mcp_str_from(text), part;
    bool is_claim, separated = true, any = false;
    for (const char *at = text; *at; at++) {
        if (*at < ' ' || *at > '~')
            return mcp__fail(error, MCP_EINVAL, 0, "a principal must be printable ASCII");
    }
    while (next_part(&rest, &part, &is_claim)) {
        bool ends = part.len && is_claim ? part.ptr[part.len] == '}' : !is_claim;
        if (!ends || memchr(part.ptr, is_claim ? '{' : '}', part.len) || part.len > MCP__RS_CLAIM)
            return mcp__fail(error, MCP_EINVAL, 0, "the principal \"%.80s\" has a wrong brace",
                             text);
        if (is_claim && !separated)
            return mcp__fail(error, MCP_EINVAL, 0,
                             "two claims of the principal \"%.80s\" need one of / ; # between "
                             "them: otherwise two callers could have the same principal",
                             text);
        separated = is_claim ? false : separated || separates(part);
        any = any || is_claim;
    }
    return any ? MCP_OK
               : mcp__fail(error, MCP_EINVAL, 0, "the principal \"%.80s\" has no claim in braces",
                           text);
}

/* Writes the principal, NUL-terminated. Returns false if the token lacks one of its claims. */
static bool put_principal(mcp__buf *to, const mcp__rs_issuer *issuer, mcp_str name,
                          const mcp_json *claims)
{
    mcp_str rest = mcp_str_from(issuer->principal), part;
    bool is_claim;
    mcp__buf_str(to, name);
    mcp__buf_char(to, '#');
    while (next_part(&rest, &part, &is_claim)) {
        mcp_str value = is_claim ? mcp_json_string(mcp__rs_claim(claims, part)) : part;
        if (!value.len)
            return false;
        if (is_claim)
            put_value(to, value);
        else
            mcp__buf_str(to, value);
    }
    mcp__buf_char(to, '\0');
    return to->len <= MCP__RS_PRINCIPAL && to->failed != MCP_ELIMIT;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

/* Appends the scopes that the scopes of the list imply, directly or indirectly. */
static void put_implied(const mcp_resource_server *rs, mcp__buf *scopes)
{
    bool more = true;
    while (more && !scopes->failed) {
        more = false;
        for (size_t i = 0; i < rs->n_implies && !scopes->failed; i++) {
            const mcp__scope_implies *row = &rs->implies[i];
            mcp_str list = mcp__buf_view(scopes);
            if (!mcp__scopes_cover(list, row->scope, NULL, 0) ||
                mcp__scopes_cover(list, row->implied, NULL, 0))
                continue;
            mcp__buf_char(scopes, ' ');
            mcp__buf_str(scopes, row->implied);
            more = true;
        }
    }
}

/* ---- the identity ---------------------------------------------------------------------------- */

static mcp__refused refusal_of(int rc)
{
    if (rc == MCP_OK)
        return MCP__ACCEPTED;
    return rc == MCP_ENOMEM ? MCP__REFUSED_NO_MEMORY : MCP__REFUSED_SCOPES;
}

static mcp__refused make(mcp__rs_check *check, const mcp__claims *claims, const char *json,
                         mcp__buf *principal, mcp__buf *scopes)
{
    const mcp_resource_server *rs = check->job.rs;
    const mcp__rs_issuer *issuer = check->issuer;
    char token[MCP__SHA256_TEXT + 1];
    mcp_identity_options o = {.size = sizeof(o), .allocator = rs->allocator};
    token[mcp__base64url_encode(token, check->id.mac, MCP__SHA256)] = '\0';
    o.principal = principal->ptr;
    o.scopes = scopes->ptr;
    o.claims = json;
    o.issuer = rs->rules[issuer->index].issuer.ptr;
    o.token = token;
    bool ends = claims->expires != INT64_MAX;
    check->expires = ends ? claims->expires + MCP__TOKEN_SKEW : INT64_MAX;
    o.expires_ms = ends ? check->expires * 1000 : 0;
    int rc = mcp_identity_new(&o, &check->known.identity, NULL);
    check->bytes = mcp__identity_memory(check->known.identity);
    return refusal_of(rc);
}

mcp__refused mcp__rs_identify(mcp__rs_check *check, const mcp_json_doc *doc,
                              const mcp__claims *claims, const char *json)
{
    const mcp_resource_server *rs = check->job.rs;
    mcp_str issuer = rs->rules[check->issuer->index].issuer;
    mcp__buf principal, scopes;
    mcp__refused why = MCP__ACCEPTED;
    mcp__buf_init(&principal, rs->allocator, MCP__RS_PRINCIPAL);
    mcp__buf_init(&scopes, rs->allocator, 0);
    mcp__buf_str(&scopes, mcp__buf_view(&claims->scopes));
    put_implied(rs, &scopes);
    mcp__buf_char(&scopes, '\0');
    if (!put_principal(&principal, check->issuer, issuer, mcp_json_root(doc)))
        why = MCP__REFUSED_PRINCIPAL;
    if (principal.failed == MCP_ENOMEM || scopes.failed)
        why = MCP__REFUSED_NO_MEMORY;
    memcpy(check->known.jkt, claims->jkt.len ? claims->jkt.ptr : "", claims->jkt.len);
    check->known.jkt[claims->jkt.len] = '\0';
    check->bytes = 0;
    if (why == MCP__ACCEPTED)
        why = make(check, claims, json, &principal, &scopes);
    mcp__buf_free(&principal);
    mcp__buf_free(&scopes);
    return why;
}

/* ---- groups ---------------------------------------------------------------------------------- */

int mcp_resource_server_has_group(const mcp_resource_server *server, const mcp_identity *identity,
                                  const char *issuer, const char *group)
{
    const char *own = mcp_identity_issuer(identity);
    size_t i = 0;
    if (!server || !issuer || !group)
        return MCP_EINVAL;
    while (i < server->n_issuers && !mcp_str_eq(server->rules[i].issuer, mcp_str_from(issuer)))
        i++;
    if (!own || i == server->n_issuers || strcmp(own, issuer) != 0)
        return MCP_EACCESS;
    mcp_str name = mcp_str_from(server->issuers[i].groups);
    const mcp_json *groups = name.len ? mcp__rs_claim(mcp_identity_claims(identity), name) : NULL;
    mcp_json_iter iter = {0};
    bool found = false;
    if (!mcp_json_is(groups, MCP_JSON_ARRAY))
        return MCP_ENOTFOUND;
    for (const mcp_json *one; (one = mcp_json_next(groups, &iter, NULL));) {
        if (!mcp_json_is(one, MCP_JSON_STRING))
            return MCP_ENOTFOUND;
        found = found || mcp_str_eq(mcp_json_string(one), mcp_str_from(group));
    }
    return found ? MCP_OK : MCP_EACCESS;
}
