/* The section "oauth" of mcpd's configuration: which mistakes are found, where, and what is said. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "oauth.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char told[4000];

static void tell(const char *line)
{
    size_t n = strlen(told);
    snprintf(told + n, sizeof(told) - n, "%s\n", line);
}

static int check(const char *section)
{
    char text[4000];
    config *c = NULL;
    told[0] = 0;
    snprintf(text, sizeof(text), "{\n\"oauth\":\n%s}", section);
    int rc = config_read_text("f", "/f", mcp_str_from(text), tell, &c);
    if (rc == MCP_OK)
        rc = oauth_check(c);
    config_free(c);
    return rc;
}

#define RESOURCE "\"resource\": \"https://r.example/mcp\""
#define ISSUER   "\"issuer\": \"https://i.example/realms/x\""
#define AUDIENCE "\"audiences\": [\"https://r.example/mcp\"]"

static void accepted(void **state)
{
    static const char *const table[] = {
        "{" RESOURCE ", \"issuers\": [{" ISSUER ", " AUDIENCE "}]}",
        "{" RESOURCE
        ", \"issuers\": [{\"issuer\": \"https://i.example/\", \"audiences\": [\"7f\"]}]}",
        "{\"resource\": \"http://localhost:8642/mcp\", \"issuers\": [{\"issuer\": "
        "\"http://127.0.0.1:9/\", \"audiences\": [\"a\"]}]}",
        "{" RESOURCE
        ", \"issuers\": [{\"issuer\": \"http://idp.internal\", \"allow-private\": true, "
        "\"audiences\": [\"a\"], \"jwks-uri\": \"http://idp.internal/k\"}]}",
        "{" RESOURCE ", \"issuers\": [{" ISSUER ", \"audiences\": [\"https://r.example/mcp\", "
        "\"https://r.example/mcp/\"]}]}",
        "{" RESOURCE ", \"issuers\": [{" ISSUER ", " AUDIENCE
        ", \"introspection\": {\"url\": \"https://i.example/q\", \"client-id\": \"m\", "
        "\"client-secret-file\": \"s\"}}], \"required-scopes\": \"a b\", \"implies\": {\"b\": "
        "\"a\"}, "
        "\"dpop\": \"required\", \"dpop-nonce\": true}",
        "{" RESOURCE
        ", \"issuers\": [{\"issuer\": \"https://I.example:8443/realms/a%20b\", " AUDIENCE
        ", \"page-client-id\": \"page\"}]}",
        "{" RESOURCE ", \"issuers\": [{\"issuer\": \"https://[2001:db8::1]\", " AUDIENCE
        ", \"page-client-id\": \"page\"}]}",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++)
        if (check(table[i]) != MCP_OK || told[0])
            fail_msg("%s: %s", table[i], told);
}

static const struct {
    const char *section, *told;
} mistakes[] = {
    {"{\"resource\": \"https://r.example/mcp#x\",\n\"issuers\": [{" ISSUER ", " AUDIENCE "}]}",
     "f:3:14: remove the part from \"#\" on"},
    {"{\"resource\": \"https://r.example/mcp?x\", \"issuers\": [{" ISSUER ", " AUDIENCE "}]}",
     "f:3:14: remove the part from \"?\" on"},
    {"{\"resource\": \"https://r.example/mcp/\", \"issuers\": [{" ISSUER ", " AUDIENCE "}]}",
     "f:3:14: remove the slash at the end"},
    {"{\"resource\": \"http://r.example/mcp\", \"issuers\": [{" ISSUER ", " AUDIENCE "}]}",
     "f:3:14: http sends tokens and keys unprotected: write https://"},
    {"{\"resource\": \"r.example/mcp\", \"issuers\": [{" ISSUER ", " AUDIENCE "}]}", "f:3:14: it"},
    {"{\"resource\": \"ftp://r.example/mcp\", \"issuers\": [{" ISSUER ", " AUDIENCE "}]}",
     "f:3:14: it must be a URL that begins with https://"},
    {"{\"resource\": \"https://u:p@r.example/mcp\", \"issuers\": [{" ISSUER ", " AUDIENCE "}]}",
     "must not contain a user"},
    {"{" RESOURCE ", \"issuers\": [\n{" ISSUER "}]}", "f:4:1: name at least one audience"},
    {"{" RESOURCE ", \"issuers\": [\n{" ISSUER ",\n\"audiences\": []}]}",
     "f:5:14: name at least one audience"},
    {"{" RESOURCE ", \"issuers\": [\n{" ISSUER ",\n\"audiences\": [\"a\", "
     "\"https://r.example/mcp/\"]}]}",
     "f:5:20: it differs from the resource by a slash"},
    {"{" RESOURCE ", \"issuers\": [\n{\"issuer\": \"http://i.example\", " AUDIENCE "}]}",
     "f:4:12: http sends tokens"},
    {"{" RESOURCE ", \"issuers\": [\n{\"issuer\": \"https://i.example#\", " AUDIENCE "}]}",
     "f:4:12: remove the part from \"#\" on"},
    {"{" RESOURCE ", \"issuers\": [\n{\"issuer\": \"https://i.example?a=b\", " AUDIENCE "}]}",
     "f:4:12: an issuer has no query"},
    {"{" RESOURCE ", \"issuers\": [\n{\"issuer\": "
     "\"https://i.example/.well-known/openid-configuration\", " AUDIENCE "}]}",
     "f:4:12: this is the address of metadata"},
    {"{" RESOURCE ", \"issuers\": [\n{\"issuer\": "
     "\"https://login.microsoftonline.com/common/v2.0\", " AUDIENCE "}]}",
     "f:4:12: no token has this issuer: replace \"/common/\" with the id of the tenant"},
    {"{" RESOURCE ", \"issuers\": [\n{" ISSUER ", " AUDIENCE "},\n{" ISSUER ", " AUDIENCE "}]}",
     "f:5:12: this issuer is named twice"},
    {"{" RESOURCE ", \"issuers\": [\n{" ISSUER ", " AUDIENCE
     ",\n\"jwks-uri\": \"http://i.example/k\"}]}",
     "f:5:13: http sends tokens"},
    {"{" RESOURCE ", \"issuers\": [\n{" ISSUER ", " AUDIENCE
     ",\n\"jwks-uri\": \"https://i.example/k\", \"introspection\": {\"url\": "
     "\"https://i.example/q\", \"client-id\": \"m\", \"client-secret-file\": \"s\"}}]}",
     "introspection or jwks-uri, not both"},
    {"{" RESOURCE ", \"issuers\": [{" ISSUER ", " AUDIENCE
     ", \"introspection\": {\"url\": \"https://i.example/q\", \"client-id\": \"m\", "
     "\"client-secret-file\": \"s\"}}, {\"issuer\": \"https://j\", " AUDIENCE
     ", \"introspection\": {\"url\": \"https://i.example/q\", \"client-id\": \"m\", "
     "\"client-secret-file\": \"s\"}}]}",
     "only one issuer can have introspection"},
    {"{" RESOURCE ", \"issuers\": [{" ISSUER ", " AUDIENCE
     "}],\n\"required-scopes\": \"a offline_access\"}",
     "f:4:20: remove offline_access"},
    {"{" RESOURCE ", \"issuers\": [{" ISSUER ", " AUDIENCE "}],\n\"required-scopes\": \"a,\\\"b\"}",
     "f:4:20: oauth/required-scopes"},
    {"{" RESOURCE ", \"issuers\": [{\"issuer\": \"https://a_b.example\", " AUDIENCE
     ",\n\"page-client-id\": \"page\"}]}",
     "f:4:19: remove it: the page can log in only at a host of letters"},
    {"{" RESOURCE ", \"issuers\": [{\"issuer\": \"https://a;script-src.example\", " AUDIENCE
     ",\n\"page-client-id\": \"page\"}]}",
     "f:4:19: remove it: the page can log in only at a host of letters"},
    {"{" RESOURCE ", \"issuers\": []}", "oauth/issuers"},
    {"{\"issuers\": [{" ISSUER ", " AUDIENCE "}]}", "resource"},
    {"{" RESOURCE ", \"issuers\": [{" ISSUER ", \"audience\": [\"x\"]}]}",
     "unknown key \"audience\"; did you mean \"audiences\"?"},
    {"{" RESOURCE ", \"issuers\": [{" ISSUER ", " AUDIENCE "}], \"dpop\": \"yes\"}", "oauth/dpop"},
};

static void refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(mistakes); i++)
        if (check(mistakes[i].section) == MCP_OK || !strstr(told, mistakes[i].told))
            fail_msg("%s: %s", mistakes[i].section, told);
}

/* All mistakes are reported at once. */
static void several(void **state)
{
    (void)state;
    assert_int_not_equal(
        check("{\"resource\": \"http://r.example/mcp\", \"issuers\": [{\"issuer\": "
              "\"http://i.example\"}, {" ISSUER "}], \"scopes-supported\": \"offline_access\"}"),
        MCP_OK);
    assert_non_null(strstr(told, "f:3:14: http sends"));
    assert_non_null(strstr(told, "name at least one audience"));
    assert_non_null(strstr(told, "remove offline_access"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted),
        cmocka_unit_test(refused),
        cmocka_unit_test(several),
    };
    return cmocka_run_group_tests_name("programs: oauth", tests, NULL, NULL);
}
