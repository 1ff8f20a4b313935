/* oauth.c: finds issuers and scopes of the section "oauth"; oauth_check.c checks it. */
#define _GNU_SOURCE
#include "oauth.h"

#include <stdlib.h>
#include <string.h>

#include <common/options.h>

const mcp_json *oauth_section(const config *c)
{
    return c ? mcp_json_get(config_root(c), "oauth") : NULL;
}

bool oauth_same(const config *a, const config *b)
{
    mcp_str x = {0}, y = {0};
    mcp_json_writer *one = mcp_json_writer_new(NULL, 0), *other = mcp_json_writer_new(NULL, 0);
    mcp_json_add_value(one, oauth_section(a));
    mcp_json_add_value(other, oauth_section(b));
    bool same = mcp_json_writer_finish(one, &x) == MCP_OK &&
                mcp_json_writer_finish(other, &y) == MCP_OK && mcp_str_eq(x, y);
    if (!oauth_section(a) || !oauth_section(b))
        same = !oauth_section(a) && !oauth_section(b);
    mcp_json_writer_free(one);
    mcp_json_writer_free(other);
    return same;
}

static const mcp_json *issuers_of(const config *c)
{
    return mcp_json_get(oauth_section(c), "issuers");
}

/* ---- issuers --------------------------------------------------------------------------------- */

static const char *issuer_at(size_t i, const void *user)
{
    return mcp_json_string(mcp_json_get(mcp_json_at(issuers_of(user), i), "issuer")).ptr;
}

int oauth_find_issuer(const config *c, const mcp_json *name, const char *pointer,
                      const mcp_json **ret)
{
    const mcp_json *list = issuers_of(c), *v;
    mcp_str wanted = mcp_json_string(name);
    mcp_json_iter it = {0};
    while ((v = mcp_json_next(list, &it, NULL)) != NULL) {
        if (!mcp_str_eq(mcp_json_string(mcp_json_get(v, "issuer")), wanted))
            continue;
        if (ret)
            *ret = v;
        return MCP_OK;
    }
    const char *meant = nearest_name(wanted.ptr, wanted.len, issuer_at, mcp_json_count(list), c);
    return config_wrong(c, MCP_EINVAL, pointer, "there is no issuer \"%.200s\" in oauth%s%.200s%s",
                        wanted.ptr, meant ? "; did you mean \"" : "", meant ? meant : "",
                        meant ? "\"?" : "");
}

int oauth_only_issuer(const config *c, const char *pointer, const mcp_json **ret)
{
    const mcp_json *list = issuers_of(c);
    size_t count = mcp_json_count(list);
    *ret = mcp_json_at(list, 0);
    if (count == 1)
        return MCP_OK;
    return config_wrong(c, MCP_EINVAL, pointer,
                        count ? "oauth has several issuers: write {\"issuer\": \"...\", \"name\": "
                                "\"...\"}, because a group counts only for its issuer"
                              : "groups need the section oauth with an issuer");
}

/* ---- scopes ---------------------------------------------------------------------------------- */

static bool has_scope(const char *list, const char *scope, size_t len)
{
    for (const char *at = list; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == len && memcmp(at, scope, len) == 0)
            return true;
    return false;
}

const char *oauth_all_scopes(config *c, const char *scopes)
{
    mcp_str required = mcp_json_string(mcp_json_get(oauth_section(c), "required-scopes"));
    char *all = scopes ? malloc(strlen(scopes) + required.len + 2) : NULL;
    if (!all)
        return NULL;
    memcpy(all, scopes, strlen(scopes) + 1);
    for (const char *at = required.ptr; at && *at; at += strcspn(at, " "), at += *at == ' ') {
        size_t len = strcspn(at, " "), end = strlen(all);
        if (has_scope(all, at, len))
            continue;
        all[end++] = ' ';
        memcpy(all + end, at, len);
        all[end + len] = '\0';
    }
    return config_keep(c, all);
}
