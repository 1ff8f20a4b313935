/* callers.c: see callers.h. */
#define _GNU_SOURCE
#include "callers.h"

#include <stdlib.h>

#include "oauth.h"

void callers_clear(callers *who)
{
    for (size_t i = 0; i < who->n_tests; i++) {
        for (size_t k = 0; k < who->tests[i].n_claims; k++)
            globs_clear(&who->tests[i].claims[k].values);
        free(who->tests[i].claims);
    }
    free(who->tests);
    globs_clear(&who->names);
    *who = (callers){.given = false};
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef int read_one(config *c, const mcp_json *value, const char *pointer, callers *to);

/* Reads a value, or each element of an array. */
static int read_each(config *c, const mcp_json *value, const char *pointer, read_one *read,
                     callers *to)
{
    char below[200];
    int rc = MCP_OK;
    mcp_json_iter it = {0};
    to->given = value != NULL;
    if (value && !mcp_json_is(value, MCP_JSON_ARRAY))
        return read(c, value, pointer, to);
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(value, &it, NULL)) != NULL;) {
        snprintf(below, sizeof(below), "%s/%zu", pointer, it.index - 1);
        rc = read(c, v, below, to);
    }
    return rc;
}

static int add_pattern(config *c, globs *to, const mcp_json *value, const char *pointer)
{
    mcp_str text = mcp_json_string(value);
    if (memchr(text.ptr, 0, text.len))
        return config_wrong(c, MCP_EINVAL, pointer, "it contains a NUL character");
    int rc = globs_add(to, text);
    return rc == MCP_ELIMIT ? config_wrong(c, rc, pointer, "longer than 1024 bytes") : rc;
}

static issuer_test *add_test(callers *to)
{
    issuer_test *grown = realloc(to->tests, (to->n_tests + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    to->tests = grown;
    grown[to->n_tests] = (issuer_test){.issuer = NULL};
    return &grown[to->n_tests++];
}

static int add_claim(config *c, issuer_test *to, const char *claim, const mcp_json *value,
                     const char *pointer)
{
    claim_test *grown = claim ? realloc(to->claims, (to->n_claims + 1) * sizeof(*grown)) : NULL;
    if (!grown)
        return MCP_ENOMEM;
    to->claims = grown;
    grown[to->n_claims] = (claim_test){.claim = claim};
    return add_pattern(c, &grown[to->n_claims++].values, value, pointer);
}

static int read_claims(config *c, const mcp_json *value, const char *pointer, issuer_test *to)
{
    char below[240];
    mcp_json_iter it = {0};
    mcp_str key;
    const mcp_json *subject = mcp_json_get(value, "subject");
    const mcp_json *claims = mcp_json_get(value, "claims");
    int rc = MCP_OK;
    snprintf(below, sizeof(below), "%s/subject", pointer);
    if (subject)
        rc = add_claim(c, to, "sub", subject, below);
    snprintf(below, sizeof(below), "%s/claims", pointer);
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(claims, &it, &key)) != NULL;)
        rc = add_claim(c, to, config_keep(c, strndup(key.ptr, key.len)), v, below);
    return rc;
}

static int read_principal(config *c, const mcp_json *value, const char *pointer, callers *to)
{
    if (mcp_json_is(value, MCP_JSON_STRING)) {
        mcp_str name = mcp_json_string(value);
        to->everybody = to->everybody || mcp_str_eq(name, MCP_STR("*"));
        return add_pattern(c, &to->names, value, pointer);
    }
    issuer_test *test = add_test(to);
    if (!test)
        return MCP_ENOMEM;
    int rc = oauth_find_issuer(c, mcp_json_get(value, "issuer"), pointer, NULL);
    if (rc != MCP_OK)
        return rc;
    test->issuer = config_text(c, mcp_json_get(value, "issuer"));
    return test->issuer ? read_claims(c, value, pointer, test) : MCP_ENOMEM;
}

static int read_group(config *c, const mcp_json *value, const char *pointer, callers *to)
{
    bool plain = mcp_json_is(value, MCP_JSON_STRING);
    const mcp_json *issuer = NULL;
    int rc = plain ? oauth_only_issuer(c, pointer, &issuer)
                   : oauth_find_issuer(c, mcp_json_get(value, "issuer"), pointer, &issuer);
    if (rc != MCP_OK)
        return rc;
    const mcp_json *groups = mcp_json_get(issuer, "groups");
    if (!groups)
        return config_wrong(c, MCP_EINVAL, pointer,
                            "the issuer has no \"groups\": name the claim of its tokens that lists "
                            "the groups of a caller");
    issuer_test *test = add_test(to);
    if (!test)
        return MCP_ENOMEM;
    *test = (issuer_test){.issuer = config_text(c, mcp_json_get(issuer, "issuer")),
                          .group = config_text(c, plain ? value : mcp_json_get(value, "name")),
                          .groups = config_text(c, groups)};
    return test->issuer && test->group && test->groups ? MCP_OK : MCP_ENOMEM;
}

int callers_read_principals(config *c, const mcp_json *rule, const char *pointer, callers *ret)
{
    char below[120];
    snprintf(below, sizeof(below), "%s/principal", pointer);
    return read_each(c, mcp_json_get(rule, "principal"), below, read_principal, ret);
}

int callers_read_groups(config *c, const mcp_json *rule, const char *pointer, callers *ret)
{
    char below[120];
    snprintf(below, sizeof(below), "%s/group", pointer);
    return read_each(c, mcp_json_get(rule, "group"), below, read_group, ret);
}

/* ---- checking -------------------------------------------------------------------------------- */

static truth least(truth a, truth b)
{
    return a < b ? a : b;
}

static truth most(truth a, truth b)
{
    return a > b ? a : b;
}

/* A list that is incomplete or of another form says nothing about any group. */
const mcp_json *callers_groups(const mcp_identity *identity, mcp_str claim)
{
    const mcp_json *list = callers_claim(identity, claim);
    mcp_json_iter it = {0};
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;)
        if (!mcp_json_is(v, MCP_JSON_STRING))
            return NULL;
    return mcp_json_is(list, MCP_JSON_ARRAY) ? list : NULL;
}

const mcp_json *callers_claim(const mcp_identity *identity, mcp_str claim)
{
    const mcp_json *claims = mcp_identity_claims(identity);
    return claim.len && *claim.ptr == '/' ? config_follow(claims, claim)
                                          : mcp_json_get_str(claims, claim);
}

static truth has_claim(const claim_test *test, const mcp_identity *identity)
{
    mcp_str text = mcp_json_string(callers_claim(identity, mcp_str_from(test->claim)));
    if (!text.ptr)
        return UNKNOWN;
    return globs_match(&test->values, text) ? YES : NO;
}

static truth has_group(const issuer_test *test, const mcp_identity *identity)
{
    const mcp_json *list = callers_groups(identity, mcp_str_from(test->groups));
    mcp_str wanted = mcp_str_from(test->group);
    mcp_json_iter it = {0};
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;)
        if (mcp_str_eq(mcp_json_string(v), wanted))
            return YES;
    return list ? NO : UNKNOWN;
}

static truth matches(const issuer_test *test, const mcp_identity *identity)
{
    const char *issuer = mcp_identity_issuer(identity);
    if (!issuer || strcmp(issuer, test->issuer) != 0)
        return NO;
    truth all = test->group ? has_group(test, identity) : YES;
    for (size_t i = 0; i < test->n_claims; i++)
        all = least(all, has_claim(&test->claims[i], identity));
    return all;
}

truth callers_include(const callers *who, const mcp_identity *identity)
{
    const char *principal = mcp_identity_principal(identity);
    const char *name = principal ? principal : "anonymous";
    bool is_named = !mcp_identity_issuer(identity) && globs_match(&who->names, mcp_str_from(name));
    truth any = !who->given || who->everybody || is_named ? YES : NO;
    for (size_t i = 0; i < who->n_tests; i++)
        any = most(any, matches(&who->tests[i], identity));
    return any;
}
