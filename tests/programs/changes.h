/* changes.h: for tests of access rules about operations that change something: the callers that are
 * asked about, and a configuration as it is read.
 */
#ifndef MCP_TESTS_CHANGES_H
#define MCP_TESTS_CHANGES_H

#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define OAUTH                                                     \
    "\"oauth\": {\"resource\": \"https://r/mcp\", \"issuers\": [" \
    "{\"issuer\": \"https://a\", \"audiences\": [\"x\"], \"groups\": \"groups\"}]}, "

static char told[1000];

static void tell(const char *line)
{
    snprintf(told, sizeof(told), "%s", line);
}

/* Reads a configuration; *c must be freed after *ret. */
static int read_config(const char *text, config **c, settings *s, access_rules **ret)
{
    mcp_error error = {0};
    told[0] = 0;
    *ret = NULL;
    *c = NULL;
    *s = (settings){0};
    int rc = config_read_text("f", "/f", mcp_str_from(text), tell, c);
    if (rc == MCP_OK)
        rc = config_fill(*c, s);
    if (rc == MCP_OK)
        rc = access_read(*c, &s->sources, ret, &error);
    if (error.text[0])
        snprintf(told, sizeof(told), "%s", error.text);
    return rc;
}

static void forget(config *c, settings *s, access_rules *rules)
{
    access_free(rules);
    options_clear(s);
    config_free(c);
}

/* ---- callers --------------------------------------------------------------------------------- */

enum { STDIO, ANNA, NOBODY, MEMBER, UNCLEAR, CALLERS };

static const mcp_identity_options options[CALLERS] = {
    [STDIO] = {.size = sizeof(options[0]), .principal = "stdio"},
    [ANNA] = {.size = sizeof(options[0]), .principal = "anna"},
    [NOBODY] = {.size = 0},
    [MEMBER] = {.size = sizeof(options[0]),
                .principal = "https://a#anna",
                .issuer = "https://a",
                .scopes = "write",
                .claims = "{\"sub\":\"anna\",\"groups\":[\"staff\"],\"email\":\"anna@x\"}"},
    /* Neither its groups nor its address are known. */
    [UNCLEAR] = {.size = sizeof(options[0]),
                 .principal = "https://a#bert",
                 .issuer = "https://a",
                 .claims = "{\"sub\":\"bert\"}"},
};

static mcp_identity *who[CALLERS];

static int make_callers(void **state)
{
    (void)state;
    for (size_t i = 0; i < CALLERS; i++)
        if (options[i].size && mcp_identity_new(&options[i], &who[i], NULL) != MCP_OK)
            return -1;
    return 0;
}

static int free_callers(void **state)
{
    (void)state;
    for (size_t i = 0; i < CALLERS; i++)
        mcp_identity_unref(who[i]);
    return 0;
}

static inline mcp_effect effect_of(access_rules *rules, size_t caller, mcp_operation operation,
                                   mcp_item item, const char *name, unsigned flags)
{
    if (!rules)
        return MCP_EFFECT_DENY; /* without rules the server never asks */
    return access_may_do(who[caller], operation, item, mcp_str_from(name), flags, rules);
}

#endif
