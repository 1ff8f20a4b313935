/* principals.c: checks that the principals in access rules and rates exist. A rule for an unknown principal
 * has no effect, so a misspelled name in a rule that denies access would leave access open.
 */
#include <stdlib.h>

#include <common/options.h>

#include "tokens.h"

static const char *const reserved[] = {"stdio", "anonymous"};

enum { RESERVED = sizeof(reserved) / sizeof(*reserved), SHOWN = 8 };

/* Returns the i-th principal: the built-in ones come first, then those of tokens. */
static const char *principal_at(size_t i, const void *user)
{
    return i < RESERVED ? reserved[i] : tokens_principal(user, i - RESERVED);
}

static size_t count_principals(const tokens *known)
{
    size_t n = RESERVED;
    while (principal_at(n, known))
        n++;
    return n;
}

static bool is_there(const char *name, const tokens *known)
{
    const char *one;
    for (size_t i = 0; (one = principal_at(i, known)) != NULL; i++)
        if (strcmp(one, name) == 0)
            return true;
    return false;
}

static int tell_unknown(const config *c, const char *pointer, const char *name, const tokens *known)
{
    char text[600];
    size_t count = count_principals(known);
    const char *meant = nearest_name(name, strlen(name), principal_at, count, known);
    size_t len = (size_t)snprintf(text, sizeof(text), "there is no principal \"%.100s\"", name);
    if (meant)
        snprintf(text + len, sizeof(text) - len, "; did you mean \"%.127s\"?", meant);
    else
        len += (size_t)snprintf(text + len, sizeof(text) - len, "; there are");
    for (size_t i = 0; !meant && i < count && i < SHOWN && len < 400; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s %.100s", i ? "," : "",
                                principal_at(i, known));
    return config_wrong(c, MCP_EINVAL, pointer, "%s", text);
}

/* Checks a name in a rule. A pattern with a star is accepted, because it also applies to future
 * principals. */
static int check_name(config *c, const mcp_json *value, const char *pointer, const tokens *known)
{
    if (!mcp_json_is(value, MCP_JSON_STRING))
        return MCP_OK; /* a caller of an issuer, which cannot be known */
    const char *name = config_text(c, value);
    if (!name)
        return MCP_ENOMEM;
    if (strchr(name, '*') || is_there(name, known))
        return MCP_OK;
    return tell_unknown(c, pointer, name, known);
}

static int check_names(config *c, const char *section, const mcp_json *who, size_t rule,
                       const tokens *known)
{
    char pointer[80];
    int rc = MCP_OK;
    mcp_json_iter it = {0};
    snprintf(pointer, sizeof(pointer), "/%s/%zu/principal", section, rule);
    if (!mcp_json_is(who, MCP_JSON_ARRAY))
        return check_name(c, who, pointer, known);
    for (const mcp_json *v; (v = mcp_json_next(who, &it, NULL)) != NULL;) {
        snprintf(pointer, sizeof(pointer), "/%s/%zu/principal/%zu", section, rule, it.index - 1);
        int code = check_name(c, v, pointer, known);
        rc = rc == MCP_OK ? code : rc;
    }
    return rc;
}

static int check_section(config *c, const char *section, const tokens *known)
{
    int rc = MCP_OK;
    mcp_json_iter it = {0};
    const mcp_json *rules = c ? mcp_json_get(config_root(c), section) : NULL;
    for (const mcp_json *v; (v = mcp_json_next(rules, &it, NULL)) != NULL;) {
        const mcp_json *who = mcp_json_get(v, "principal");
        int code = who ? check_names(c, section, who, it.index - 1, known) : MCP_OK;
        rc = rc == MCP_OK ? code : rc;
    }
    return rc;
}

int principals_check(config *c, const tokens *known)
{
    int access = check_section(c, "access", known), rates = check_section(c, "rates", known);
    return access != MCP_OK ? access : rates;
}
