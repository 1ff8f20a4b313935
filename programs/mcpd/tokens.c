/* tokens.c: static bearer tokens (RFC 6750) from a file.
 *
 * Each token is in a slot of the same size, padded with zeros. A received token is compared with
 * all bytes of every slot, so that the time does not reveal how many of its bytes are correct. The
 * principal of a token without a name is derived from a part of the token's SHA-256, so that it
 * does not depend on the other lines.
 */
#define _GNU_SOURCE
#include "tokens.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <common/sha256.h>

#include "secret.h"

enum { MAX_TOKEN = 512, MAX_PRINCIPAL = 128, MAX_TOKENS = 10000 };

typedef struct token {
    unsigned char bytes[MAX_TOKEN];
    mcp_identity *identity; /* has the SHA-256 of the bytes as its token */
    bool removed;           /* at another instance */
} token;

struct tokens {
    token *items;
    size_t count;
};

static const char token_chars[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=";

/* ---- the file -------------------------------------------------------------------------------- */

/* State of reading a file. */
typedef struct reader {
    tokens *into;
    const char *path;
    FILE *file;
    size_t line; /* number of the current line */
    mcp_error *error;
} reader;

static bool fail(const reader *s, const char *why)
{
    snprintf(s->error->text, sizeof(s->error->text), "%.150s: %s", s->path, why);
    return false;
}

static bool fail_line(const reader *s, const char *why)
{
    snprintf(s->error->text, sizeof(s->error->text), "%.150s, line %zu: %s", s->path, s->line, why);
    return false;
}

static bool add(const reader *s, const char *principal, const char *text)
{
    tokens *t = s->into;
    size_t len = strlen(text);
    if (len == 0 || len > MAX_TOKEN || strspn(text, token_chars) != len)
        return fail_line(s, "a token must have 1 to 512 letters, digits and -._~+/=");
    if (strlen(principal) >= MAX_PRINCIPAL)
        return fail_line(s, "a principal must have at most 127 bytes");
    if (strcmp(principal, "stdio") == 0 || strcmp(principal, "anonymous") == 0)
        return fail_line(s, "the names stdio and anonymous are reserved");
    if (strstr(principal, "://"))
        return fail_line(s, "a principal must not contain ://, as those of issuers do");
    if (t->count == MAX_TOKENS)
        return fail_line(s, "more than 10,000 tokens");
    token *grown = realloc(t->items, (t->count + 1) * sizeof(*grown));
    if (!grown)
        return fail_line(s, "out of memory");
    t->items = grown;
    token *made = &grown[t->count];
    memset(made, 0, sizeof(*made));
    memcpy(made->bytes, text, len);
    char digits[65];
    sha256_hex(text, len, digits);
    if (mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = principal, .token = digits),
                         &made->identity, NULL) != MCP_OK)
        return fail_line(s, "out of memory");
    t->count++;
    return true;
}

static bool add_line(const reader *s, char *line)
{
    char digits[65], own[32];
    line += strspn(line, " \t");
    size_t len = strlen(line);
    while (len && strchr(" \t\r\n", line[len - 1]))
        line[--len] = 0;
    if (len == 0 || *line == '#')
        return true;
    char *colon = strchr(line, ':');
    if (!colon) {
        sha256_hex(line, len, digits);
        snprintf(own, sizeof(own), "token:%.12s", digits);
        return add(s, own, line);
    }
    if (colon == line)
        return fail_line(s, "the principal before the colon is missing");
    *colon = 0;
    return add(s, line, colon + 1);
}

static bool read_lines(reader *s)
{
    char line[1024];
    while (fgets(line, sizeof(line), s->file)) {
        s->line++;
        if (strlen(line) == sizeof(line) - 1)
            return fail_line(s, "the line is too long");
        if (!add_line(s, line))
            return false;
    }
    if (ferror(s->file))
        return fail(s, strerror(errno));
    return s->into->count > 0 || fail(s, "there is no token in it");
}

/* Reads a file with one token per line, as TOKEN or PRINCIPAL:TOKEN; # begins a comment line. The
 * principal of a token alone is "token:" and the first twelve digits of the token's SHA-256. Fails
 * with MCP_EINVAL and *error, or with MCP_ENOMEM. */
static int read_tokens(const char *path, tokens **ret, mcp_error *error)
{
    reader s = {.into = calloc(1, sizeof(*s.into)), .path = path, .error = error};
    if (!s.into)
        return MCP_ENOMEM;
    s.file = secret_open(path, error);
    bool ok = s.file && read_lines(&s);
    if (s.file)
        fclose(s.file);
    if (ok)
        *ret = s.into;
    else
        tokens_free(s.into);
    return ok ? MCP_OK : MCP_EINVAL;
}

static int add_own(tokens *t, config *c, mcp_error *error)
{
    mcp_json_iter it = {0};
    mcp_str key;
    reader s = {.into = t, .path = "tokens", .error = error};
    const mcp_json *list = mcp_json_get(config_root(c), "tokens");
    for (const mcp_json *v; (v = mcp_json_next(list, &it, &key)) != NULL;) {
        const char *text = config_text(c, v);
        char name[MAX_PRINCIPAL] = "";
        if (!text)
            return MCP_ENOMEM;
        s.line++;
        if (key.len >= sizeof(name) || memchr(key.ptr, 0, key.len))
            return fail_line(&s, "not a name"), MCP_EINVAL;
        memcpy(name, key.ptr, key.len);
        if (!add(&s, name, text)) {
            char pointer[MAX_PRINCIPAL + 16];
            const char *why = strstr(error->text, ": ");
            snprintf(pointer, sizeof(pointer), "/tokens/%s", name);
            config_wrong(c, 0, pointer, "%s", why ? why + 2 : error->text);
            error->text[0] = 0;
            return MCP_EINVAL;
        }
    }
    return MCP_OK;
}

int tokens_load(const char *path, config *c, tokens **ret, mcp_error *error)
{
    bool own = c && mcp_json_count(mcp_json_get(config_root(c), "tokens")) > 0;
    tokens *t = NULL;
    int rc = MCP_OK;
    if (path)
        rc = read_tokens(path, &t, error);
    else if (own)
        rc = (t = calloc(1, sizeof(*t))) ? MCP_OK : MCP_ENOMEM;
    if (rc == MCP_OK && own)
        rc = add_own(t, c, error);
    if (rc == MCP_OK)
        *ret = t;
    else
        tokens_free(t);
    return rc;
}

static bool has_principal(const tokens *t, const char *principal)
{
    for (size_t i = 0; i < t->count; i++)
        if (!t->items[i].removed && strcmp(tokens_principal(t, i), principal) == 0)
            return true;
    return false;
}

static bool has(const tokens *t, const token *one)
{
    for (size_t i = 0; i < t->count; i++)
        if (memcmp(t->items[i].bytes, one->bytes, sizeof(one->bytes)) == 0 &&
            strcmp(tokens_principal(t, i), mcp_identity_principal(one->identity)) == 0)
            return true;
    return false;
}

void tokens_gone(const tokens *before, const tokens *now,
                 void (*gone)(void *user, const mcp_identity *identity, bool last), void *user)
{
    for (size_t i = 0; before && i < before->count; i++) {
        const token *one = &before->items[i];
        if (!has(now, one))
            gone(user, one->identity, !has_principal(now, tokens_principal(before, i)));
    }
}

/* Their slots stay, with bytes that no token has, so that other identities keep their places. */
void tokens_remove(tokens *t, mcp_str digest,
                   void (*gone)(void *user, const mcp_identity *identity, bool last), void *user)
{
    for (size_t i = 0; i < t->count; i++) {
        token *one = &t->items[i];
        if (one->removed || !mcp_str_eq(digest, mcp_str_from(mcp_identity_token(one->identity))))
            continue;
        memset(one->bytes, 0, sizeof(one->bytes));
        one->removed = true;
        gone(user, one->identity, !has_principal(t, tokens_principal(t, i)));
    }
}

const char *tokens_principal(const tokens *t, size_t i)
{
    return t && i < t->count ? mcp_identity_principal(t->items[i].identity) : NULL;
}

void tokens_free(tokens *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->count; i++)
        mcp_identity_unref(t->items[i].identity);
    free(t->items);
    free(t);
}

/* ---- checking -------------------------------------------------------------------------------- */

static unsigned difference(const unsigned char *a, const unsigned char *b)
{
    unsigned bits = 0;
    for (size_t i = 0; i < MAX_TOKEN; i++)
        bits |= (unsigned)(a[i] ^ b[i]);
    return bits;
}

mcp_identity *tokens_check(const tokens *t, mcp_str authorization)
{
    static const char scheme[] = "Bearer ";
    unsigned char given[MAX_TOKEN] = {0};
    mcp_identity *found = NULL;
    if (authorization.len < sizeof(scheme) || strncasecmp(authorization.ptr, scheme, 7) != 0)
        return NULL;
    const char *at = authorization.ptr + 7;
    size_t len = authorization.len - 7;
    for (; len && *at == ' '; len--)
        at++;
    if (len == 0 || len > MAX_TOKEN)
        return NULL;
    memcpy(given, at, len);
    for (size_t i = 0; i < t->count; i++)
        if (difference(given, t->items[i].bytes) == 0 && !t->items[i].removed)
            found = t->items[i].identity;
    return found;
}
