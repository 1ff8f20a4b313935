/* www.c: see www.h. The grammar is that of RFC 9110 sections 5.6.1 to 5.6.4 and 11.3:
 *
 *     value     = [ challenge ] *( "," [ challenge ] )
 *     challenge = scheme [ 1*SP ( token68 / [ param ] *( "," [ param ] ) ) ]
 *     param     = token *WS "=" *WS ( token / quoted-string )
 *
 * After a comma, a token is a parameter if "=" follows it, else the scheme of the next
 * challenge. */
#include "auth/www.h"
#include "protocol/scope.h"

typedef struct reader {
    mcp__www *www;
    char *at, *end;
} reader;

/* ---- characters ------------------------------------------------------------------------------ */

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_alphanumeric(char c)
{
    return (c >= '0' && c <= '9') || (mcp__lower(c) >= 'a' && mcp__lower(c) <= 'z');
}

/* Returns whether the string `set`, which ends with a NUL, has the character. */
static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

static bool is_token_char(char c)
{
    return is_alphanumeric(c) || is_one_of(c, "!#$%&'*+-.^_`|~");
}

static bool is_token68_char(char c)
{
    return is_alphanumeric(c) || is_one_of(c, "-._~+/");
}

static void skip_spaces(reader *r)
{
    while (r->at < r->end && is_space(*r->at))
        r->at++;
}

/* Skips empty list elements: commas and white space. Returns whether there was a comma. */
static bool skip_commas(reader *r)
{
    bool any = false;
    while (r->at < r->end && (is_space(*r->at) || *r->at == ','))
        any |= *r->at++ == ',';
    return any;
}

static mcp_str take_token(reader *r)
{
    char *start = r->at;
    while (r->at < r->end && is_token_char(*r->at))
        r->at++;
    return (mcp_str){start, (size_t)(r->at - start)};
}

/* Returns whether a comma or the end follows. */
static bool ends_here(const reader *r)
{
    const char *at = r->at;
    while (at < r->end && is_space(*at))
        at++;
    return at == r->end || *at == ',';
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Reads a quoted string after its first quote, and removes the escapes in place. */
static bool take_quoted(reader *r, mcp_str *ret)
{
    char *to = r->at;
    ret->ptr = to;
    while (r->at < r->end && *r->at != '"') {
        if (*r->at == '\\' && ++r->at == r->end)
            return false;
        unsigned char c = (unsigned char)*r->at++;
        if ((c < ' ' && c != '\t') || c == 0x7F)
            return false;
        *to++ = (char)c;
    }
    ret->len = (size_t)(to - ret->ptr);
    return r->at++ < r->end;
}

/* Reads the value of a parameter after "=". */
static bool take_value(reader *r, mcp_str *ret)
{
    skip_spaces(r);
    if (r->at < r->end && *r->at == '"') {
        r->at++;
        return take_quoted(r, ret) && ends_here(r);
    }
    /* A URL or a base64 text without quotes is not a token, but servers send them. */
    char *start = r->at;
    while (r->at < r->end && (unsigned char)*r->at > ' ' && *r->at != ',' && *r->at != '"' &&
           *r->at != '\\' && (unsigned char)*r->at < 0x7F)
        r->at++;
    *ret = (mcp_str){start, (size_t)(r->at - start)};
    return ret->len && ends_here(r);
}

static int add_param(reader *r, mcp__www_challenge *challenge, mcp_str name)
{
    mcp__www *www = r->www;
    mcp_str value;
    if (!take_value(r, &value))
        return MCP_EPARSE;
    for (size_t i = 0; i < challenge->n; i++) {
        if (mcp__str_same(www->params[challenge->first + i].name, name))
            return MCP_EPARSE;
    }
    if (challenge->first + challenge->n == MCP__WWW_PARAMS)
        return MCP_ELIMIT;
    www->params[challenge->first + challenge->n++] = (mcp__www_param){name, value};
    return MCP_OK;
}

/* Reads a parameter, if there is one. Returns 1 if there was one, 0 if not (the position is then as
 * before), or a negative code. */
static int take_param(reader *r, mcp__www_challenge *challenge)
{
    char *start = r->at;
    mcp_str name = take_token(r);
    skip_spaces(r);
    if (!name.len || r->at == r->end || *r->at != '=') {
        r->at = start;
        return 0;
    }
    r->at++;
    int rc = add_param(r, challenge, name);
    return rc == MCP_OK ? 1 : rc;
}

/* Reads a token68, if there is one: unlike a parameter, it ends the challenge. */
static bool take_token68(reader *r, mcp__www_challenge *challenge)
{
    char *at = r->at;
    while (at < r->end && is_token68_char(*at))
        at++;
    bool any = at > r->at;
    while (any && at < r->end && *at == '=')
        at++;
    reader after = {r->www, at, r->end};
    if (!any || !ends_here(&after))
        return false;
    challenge->token68 = (mcp_str){r->at, (size_t)(at - r->at)};
    r->at = at;
    return true;
}

/* Reads what follows the scheme. */
static int take_rest(reader *r, mcp__www_challenge *challenge)
{
    bool spaced = r->at < r->end && is_space(*r->at);
    skip_spaces(r);
    if (r->at == r->end || *r->at == ',') {
        char *start = r->at;
        /* "Scheme , name=value": the list may begin with an empty element. */
        skip_commas(r);
        int rc = spaced ? take_param(r, challenge) : 0;
        if (rc <= 0) {
            r->at = start;
            return rc;
        }
    } else if (!spaced) {
        return MCP_EPARSE;
    } else if (take_token68(r, challenge)) {
        return MCP_OK;
    } else {
        int rc = take_param(r, challenge);
        if (rc <= 0)
            return rc < 0 ? rc : MCP_EPARSE;
    }
    for (;;) {
        char *start = r->at;
        int rc = skip_commas(r) ? take_param(r, challenge) : 0;
        if (rc <= 0) {
            r->at = start;
            return rc;
        }
    }
}

static int read_all(reader *r)
{
    mcp__www *www = r->www;
    skip_commas(r);
    while (r->at < r->end) {
        mcp__www_challenge challenge = {.scheme = take_token(r), .first = www->n_params};
        if (!challenge.scheme.len)
            return MCP_EPARSE;
        int rc = take_rest(r, &challenge);
        if (rc != MCP_OK)
            return rc;
        if (www->n == MCP__WWW_CHALLENGES)
            return MCP_ELIMIT;
        www->challenges[www->n++] = challenge;
        www->n_params += challenge.n;
        skip_spaces(r);
        if (r->at < r->end && !skip_commas(r))
            return MCP_EPARSE;
    }
    return MCP_OK;
}

int mcp__www_read(mcp__www *ret, mcp_str value, const mcp_allocator *allocator)
{
    ret->text = NULL;
    ret->n = ret->n_params = 0;
    ret->allocator = *mcp__allocator(allocator);
    if (value.len > MCP__WWW_BYTES)
        return MCP_ELIMIT;
    if (!value.len)
        return MCP_OK;
    ret->text = mcp__alloc(&ret->allocator, value.len);
    if (!ret->text)
        return MCP_ENOMEM;
    memcpy(ret->text, value.ptr, value.len);
    reader r = {ret, ret->text, ret->text + value.len};
    return read_all(&r);
}

void mcp__www_clear(mcp__www *www)
{
    mcp__release(&www->allocator, www->text);
    www->text = NULL;
    www->n = www->n_params = 0;
}

/* ---- contents -------------------------------------------------------------------------------- */

mcp_str mcp__www_get(const mcp__www *www, const mcp__www_challenge *challenge, const char *name)
{
    for (size_t i = 0; challenge && i < challenge->n; i++) {
        const mcp__www_param *param = &www->params[challenge->first + i];
        if (mcp__str_same(param->name, mcp_str_from(name)))
            return param->value;
    }
    return (mcp_str){NULL, 0};
}

const mcp__www_challenge *mcp__www_find(const mcp__www *www, const char *scheme)
{
    for (size_t i = 0; i < www->n; i++) {
        if (mcp__str_same(www->challenges[i].scheme, mcp_str_from(scheme)))
            return &www->challenges[i];
    }
    return NULL;
}

void mcp__www_asked(const mcp__www *www, bool dpop, mcp__www_wants *ret)
{
    const mcp__www_challenge *bound = mcp__www_find(www, "DPoP");
    const mcp__www_challenge *bearer = mcp__www_find(www, "Bearer");
    const mcp__www_challenge *first = dpop ? bound : bearer, *second = dpop ? bearer : bound;
    const struct {
        const char *name;
        mcp_str *to;
    } params[] = {
        {"error", &ret->error},
        {"error_description", &ret->description},
        {"scope", &ret->scope},
        {"resource_metadata", &ret->metadata_url},
    };
    *ret =
        (mcp__www_wants){.bearer = bearer, .dpop = bound, .algs = mcp__www_get(www, bound, "algs")};
    for (size_t i = 0; i < MCP__COUNT(params); i++) {
        *params[i].to = mcp__www_get(www, first, params[i].name);
        if (!params[i].to->len)
            *params[i].to = mcp__www_get(www, second, params[i].name);
    }
    if (!mcp__scopes_valid(ret->scope))
        ret->scope = (mcp_str){NULL, 0};
}
