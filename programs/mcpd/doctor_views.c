/* doctor_views.c: what mcpd --doctor says about the views: where each one is, and which audience a token for it needs. The
 * rules are those of mcp_resource_server_set_views(). */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "doctor.h"
#include "oauth.h"

enum { MOST = 16 }; /* audiences that are named */

typedef struct audiences {
    mcp_str items[MOST];
    size_t count;
} audiences;

static void add(audiences *all, mcp_str one)
{
    for (size_t i = 0; i < all->count; i++)
        if (mcp_str_eq(all->items[i], one))
            return;
    if (all->count < MOST)
        all->items[all->count++] = one;
}

static void add_list(audiences *all, const mcp_json *list)
{
    mcp_json_iter it = {0};
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;)
        add(all, mcp_json_string(v));
}

/* Whether an issuer names the resource of the server, which includes that of each view without one of its own. */
static bool names_server(const audiences *all, const mcp_json *section)
{
    mcp_str server = mcp_json_string(mcp_json_get(section, "resource"));
    for (size_t i = 0; i < all->count; i++)
        if (mcp_str_eq(all->items[i], server))
            return true;
    return false;
}

/* Writes the audiences for a view. */
static void put_audiences(char *to, size_t room, const mcp_json *section, mcp_str name,
                          const mcp_json *own)
{
    audiences all = {.count = 0};
    mcp_json_iter it = {0};
    mcp_str server = mcp_json_string(mcp_json_get(section, "resource"));
    size_t len = 0;
    for (const mcp_json *v;
         !own && (v = mcp_json_next(mcp_json_get(section, "issuers"), &it, NULL)) != NULL;)
        add_list(&all, mcp_json_get(v, "audiences"));
    if (own)
        add(&all, mcp_json_string(own));
    for (size_t i = 0; i < all.count && len < room; i++)
        len += (size_t)snprintf(to + len, room - len, "%s%.*s",
                                i ? " or " : ", for tokens with the audience ",
                                (int)all.items[i].len, all.items[i].ptr);
    if (!own && names_server(&all, section) && len < room)
        snprintf(to + len, room - len, " or %.*s/%.*s", (int)server.len, server.ptr, (int)name.len,
                 name.ptr);
}

void doctor_views(const settings *now, const config *c)
{
    const mcp_json *list = c ? mcp_json_get(config_root(c), "views") : NULL;
    const mcp_json *section = now->http.count && list ? oauth_section(c) : NULL;
    mcp_json_iter it = {0};
    mcp_str name;
    for (const mcp_json *v; (v = mcp_json_next(list, &it, &name)) != NULL;) {
        char needs[FINDING_TEXT] = "";
        if (section)
            put_audiences(needs, sizeof(needs), section, name, mcp_json_get(v, "resource"));
        doctor_find(FINDING_OK, "view", "%s%.*s%s", now->http.count ? "/mcp/" : "--view ",
                    (int)name.len, name.ptr, needs);
    }
}
