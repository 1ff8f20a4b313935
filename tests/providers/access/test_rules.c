/* Access rules over all providers: the rules are applied to the requested item, whether it is
 * requested with another spelling, in parts, or together with others. test_generated.c tests
 * thousands of spellings.
 */
#define _GNU_SOURCE
#include "world.h"

static peer p;

static const char script[] =
    "mkdir -p docs/sub prompts; echo 'MARK(plan)' >docs/plan.txt; echo 'MARK(open)' >docs/open.md; "
    "echo 'MARK(key)' >docs/sub/a.key; "
    "mkdir docs/many; (cd docs/many; seq -f hidden%05.0f.key 400 | xargs touch; touch x.md y.md); "
    "git init -q -b main app; cd app; mkdir -p sub; echo 'MARK(secret)' >secret.key; "
    "cp -r ../docs/many .; "
    "echo 'MARK(open)' >open.md; echo 'MARK(deep)' >sub/deep.key; git add .; git commit -q -m "
    "first; "
    "git tag v1; echo 'MARK(secret2)' >>secret.key; echo 'MARK(open2)' >>open.md; "
    "git commit -q -a -m second; echo 'MARK(work)' >>open.md; echo 'MARK(work)' >>secret.key; "
    "echo new >new.md; echo new >new.key; git add new.md new.key; cd ..; " SHOP_SCRIPT;

/* A request and the access rules under which it is sent. "$T" stands for the folder. */
typedef struct row {
    rule rules[4];
    const char *method, *params;
    const char *has[5]; /* see check_reply() */
} row;

#define DENY(glob)  \
    {               \
        false, glob \
    }
#define ALLOW(glob) \
    {               \
        true, glob  \
    }
#define URI(text) "\"uri\":\"" text "\""

static const char *with_folder(const char *text)
{
    static char out[4096];
    char *at = out;
    for (; *text; text++) {
        if (strncmp(text, "$T", 2) == 0) {
            at = stpcpy(at, top);
            text++;
        } else {
            *at++ = *text;
        }
    }
    *at = 0;
    return out;
}

static void check(const row *rows, size_t n, mcp_loop *loop)
{
    open_world(&p, loop);
    for (size_t i = 0; i < n; i++) {
        const char *params = with_folder(rows[i].params);
        size_t count = 0;
        while (count < COUNT(rows[i].rules) && rows[i].rules[count].glob)
            count++;
        set_rules(&p, rows[i].rules, count);
        check_reply(params, ask_any(&p, rows[i].method, params), rows[i].has);
    }
    close_world(&p);
}

/* Runs the rows without workers, where requests are answered synchronously, and with them. */
static void check_both(const row *rows, size_t n)
{
    check(rows, n, NULL);
    check(rows, n, new_loop());
}

/* ---- parameters and spellings ---------------------------------------------------------------- */

#define ONLY_MD                      \
    {                                \
        DENY("**"), ALLOW("**/*.md") \
    }
#define NO_KEY           \
    {                    \
        DENY("**/*.key") \
    }
#define NO_PLAN                         \
    {                                   \
        DENY("file://$T/docs/plan.txt") \
    }
#define LISTEN(uri) "\"notifications\":{\"resourceSubscriptions\":[\"" uri "\"]}"
#define NOT_HERE           \
    {                      \
        NOT_FOUND, "!MARK" \
    }
#define LISTEN_METHOD "subscriptions/listen"

static const row spellings[] = {
    {ONLY_MD, READ, URI("git://app/HEAD/open.md?offset=0"), {"MARK(open)"}},
    {ONLY_MD, READ, URI("git://app/HEAD/secret.key?after=.md"), NOT_HERE},
    {ONLY_MD, READ, URI("git://app/HEAD/secret.key?offset=0&%61fter=x.md"), NOT_HERE},
    {ONLY_MD, READ, URI("git://app/HEAD?after=%2Fopen.md"), NOT_HERE},
    {NO_KEY, READ, URI("git://app/HEAD/open.md?offset=1&length=4"), {"\"text\":\"ARK(\""}},
    {NO_KEY, READ, URI("git://app/HEAD/secret.key?offset=0"), NOT_HERE},
    {NO_KEY, READ, URI("GIT://app/%48EAD/%73ecret.key?%6fffset=0"), NOT_HERE},
    {NO_KEY, READ, URI("git://app/-/blame/HEAD/secret.key?line=1"), {NOT_FOUND}},
    {NO_KEY, READ, URI("git://app/-/log/HEAD/secret.key?limit=2"), {NOT_FOUND}},
    {NO_KEY, READ, URI("git://app/-/log/HEAD/open.md?limit=2"), {"second"}},
    {NO_KEY, READ, URI("git://app/HEAD~1/secret.key"), {NOT_FOUND}},
    {NO_KEY,
     READ,
     URI("git://app/-/search/HEAD?text=MARK"),
     {"open.md:1", "!secret", "!deep.key", "!next"}},
    {NO_KEY,
     READ,
     URI("git://app/-/search/HEAD?text=MARK&format=text&limit=1"),
     {"open.md:1", "!secret", "!deep.key"}},
    {NO_KEY, READ, URI("git://app/-/search/HEAD?regex=secret&path=secret.key"), {NOT_FOUND}},
    {ONLY_MD, READ, URI("git://app/-/search/HEAD?text=MARK&path=open.md"), {NOT_FOUND}},
    {NO_KEY, READ, URI("git://app/-/log/v1..HEAD/secret.key"), {NOT_FOUND}},
    {NO_KEY, READ, URI("git://app/-/log/v1..HEAD"), {"second", "!first"}},
    {NO_KEY, READ, URI("git://app/-/diff/v1..HEAD"), {"open2", "!secret"}},
    {NO_KEY, READ, URI("git://app/-/diff/v1...HEAD"), {"open2", "!secret"}},
    {{DENY("git://app/-/diff/v1/**"), DENY("git://app/-/diff/v1/*")},
     READ,
     URI("git://app/-/diff/v1..HEAD"),
     {NOT_FOUND}},
    {NO_PLAN, READ, URI("file://$T/docs/plan.txt"), NOT_HERE},
    {NO_PLAN, READ, URI("file://$T/docs/plan.txt?line=1&lines=9"), NOT_HERE},
    {NO_PLAN, READ, URI("file://$T/docs/plan.txt?%6cine=1&%6cines=9"), NOT_HERE},
    {NO_PLAN, READ, URI("FILE://$T/docs/pl%61n.txt?t%61il=9"), NOT_HERE},
    {NO_PLAN, READ, URI("file://$T/docs/open.md?%6cine=1&%6cines=9"), {"MARK(open)"}},
    {{DENY("file://$T/docs/sub"), DENY("file://$T/docs/sub/**")},
     READ,
     URI("file://$T/docs/sub?%64epth=3"),
     NOT_HERE},
    {{DENY("file://$T/docs/sub/**")}, READ, URI("file://$T/docs/sub/a.key?%74ail=1"), NOT_HERE},
    {{DENY("**/customer"), DENY("**/customer/**")},
     READ,
     URI("sqlite://shop/customer/rows?%6cimit=1"),
     NOT_HERE},
    {{DENY("**/customer/**")}, READ, URI("sqlite://shop/%63ustomer/row/1"), NOT_HERE},
    {{DENY("**/customer/**")}, READ, URI("sqlite://shop/sale/rows?limit=1"), {"MARK(sale)"}},
    /* A URI that the provider does not recognize does not exist, even if a rule allows another form
     * of it. */
    {ONLY_MD, READ, URI("git://app/HEAD/secret.key?nothing=.md"), NOT_HERE},
    {ONLY_MD, READ, URI("git://app/HEAD//secret.key/x.md"), NOT_HERE},
    /* without a provider */
    {{DENY("note:a")}, READ, URI("note:a"), NOT_HERE},
    {{DENY("note:a")}, READ, URI("note:a?from=1"), NOT_HERE},
    {{DENY("note:a")}, READ, URI("NOTE:%61?t%6f=2&from=1"), NOT_HERE},
    {{DENY("note:a")}, READ, URI("note:b?from=a"), {"MARK(note:b)"}},
    {{DENY("note:a:b")}, READ, URI("note:a%3Ab"), NOT_HERE},
    {{DENY("note:a:b")}, READ, URI("note:a%3ab?to=1"), NOT_HERE},
    {{DENY("notes:a/**")}, READ, URI("notes:a%2Fb"), NOT_HERE},
    {{DENY("notes:a/**")}, READ, URI("notes:a/b?from=1"), NOT_HERE},
    {{DENY("note:a/**")}, READ, URI("note:a%2Fb"), {"MARK(note:a/b)"}},
    {{DENY("**"), ALLOW("notes:a/**")}, READ, URI("notes:a%2fb?from=x"), {"MARK(note:a/b)"}},
    {{DENY("note:own")}, READ, URI("note:own?x=1"), {"MARK(note:"}},
    {{DENY("note:own?x=1")}, READ, URI("note:own?x=1"), NOT_HERE},
};

static void test_spellings(void **state)
{
    (void)state;
    check_both(spellings, COUNT(spellings));
}

static const row subscriptions[] = {
    {NO_KEY, LISTEN_METHOD, LISTEN("git://app/HEAD/secret.key?offset=0"), {"!secret"}},
    {NO_KEY, LISTEN_METHOD, LISTEN("git://app/HEAD/open.md?offset=0"), {"open.md?offset=0"}},
    {NO_KEY, LISTEN_METHOD, LISTEN("git://app/-/blame/HEAD/secret.key?line=1"), {"!secret"}},
    {NO_KEY, LISTEN_METHOD, LISTEN("git://app/-/log/HEAD/secret.key?limit=1"), {"!secret"}},
    {NO_PLAN, LISTEN_METHOD, LISTEN("file://$T/docs/plan.txt?%6cine=1"), {"!plan"}},
    {NO_PLAN, LISTEN_METHOD, LISTEN("file://$T/docs/open.md?%6cine=1"), {"open.md?%6cine"}},
    {NO_PLAN, LISTEN_METHOD, LISTEN("file://$T/docs/open.md?x=1"), {"!open.md"}},
    {{DENY("note:a")}, LISTEN_METHOD, LISTEN("note:%61?from=1"), {"!note:"}},
};

/* The acknowledgement names the accepted subscriptions. */
static void test_subscriptions(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(subscriptions); i++) {
        size_t count = 0;
        open_world(&p, new_loop());
        while (subscriptions[i].rules[count].glob)
            count++;
        set_rules(&p, subscriptions[i].rules, count);
        ask(&p, subscriptions[i].method, with_folder(subscriptions[i].params));
        check_reply(subscriptions[i].params, p.reply, subscriptions[i].has);
        close_world(&p);
    }
}

/* ---- completion ------------------------------------------------------------------------------ */

#define COMPLETE "completion/complete"
#define OF(template, name, value, known)                                                          \
    "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"" template "\"},\"argument\":{\"name\":\"" name \
                                                             "\",\"value\":\"" value              \
                                                             "\"},\"context\":{"                  \
                                                             "\"arguments\":{" known "}}"

/* A completed value names an item even if the rest of the template is missing. */
static const row completions[] = {
    {NO_KEY,
     COMPLETE,
     OF("git://app/{rev}/{+path}{?offset,length,format}", "path", "", ""),
     {"open.md", "!secret"}},
    {{DENY("git://app/HEAD/secret.key")},
     COMPLETE,
     OF("git://app/{rev}/{+path}{?offset,length,format}", "path", "", ""),
     {"open.md", "!secret"}},
    {{DENY("git://app/v1/secret.key")},
     COMPLETE,
     OF("git://app/-/blame/{rev}/{+path}{?line,lines,format}", "path", "", "\"rev\":\"v1\""),
     {"open.md", "!secret"}},
    {{DENY("git://app/v1/**")},
     COMPLETE,
     OF("git://app/-/diff/{from}/{to}/{+path}", "from", "", ""),
     {"main", "!v1"}},
    {{DENY("git://app/v1/**")},
     COMPLETE,
     OF("git://app/-/blame/{rev}/{+path}{?line,lines,format}", "rev", "", ""),
     {"main", "!v1"}},
    {{DENY("**"), ALLOW("git://app/-/log/**")},
     COMPLETE,
     OF("git://app/-/log/{rev}/{+path}{?author,text,since,until,files,limit,format}", "rev", "",
        ""),
     {"main", "v1"}},
    {{DENY("**/customer"), DENY("**/customer/**")},
     COMPLETE,
     OF("sqlite://shop/{table}/row{/key*}{?format}", "table", "", ""),
     {"sale", "!customer"}},
    {{DENY("**/customer"), DENY("**/customer/**")},
     COMPLETE,
     OF("sqlite://shop/{table}/cell/{column}{/key*}{?offset,length}", "column", "",
        "\"table\":\"customer\""),
     {"!word"}},
    {{DENY("**/customer"), DENY("**/customer/**")},
     COMPLETE,
     OF("sqlite://shop/{table}/cell/{column}{/key*}{?offset,length}", "column", "",
        "\"table\":\"sale\""),
     {"word"}},
    {NO_PLAN, COMPLETE, OF("file://{+path}", "path", "$T/docs/", ""), {"open.md", "!plan"}},
};

static void test_completions(void **state)
{
    (void)state;
    check_both(completions, COUNT(completions));
}

/* ---- related items in answers ---------------------------------------------------------------- */

static const row listings[] = {
    {NO_KEY, READ, URI("git://app/HEAD/"), {"open.md", "sub", "!secret", "!next"}},
    {NO_KEY, READ, URI("git://app/HEAD?limit=2"), {"many", "open.md", "!sub", "after=open.md"}},
    {NO_KEY, READ, URI("git://app/HEAD?limit=1&after=open.md"), {"sub", "!secret", "!next"}},
    {NO_KEY, READ, URI("git://app/HEAD/sub"), {"\\\"entries\\\":[]", "!deep", "!next"}},
    {NO_KEY, READ, URI("git://app/HEAD/many"), {"x.md", "y.md", "!hidden", "!next"}},
    {NO_KEY, READ, URI("git://app/HEAD/many?limit=1"), {"x.md", "!y.md", "!hidden", "after=x.md"}},
    {NO_KEY, READ, URI("git://app/HEAD/many?limit=1&after=x.md"), {"y.md", "!hidden", "!next"}},
    {{DENY("git://app/v1/**")}, READ, URI("git://app/-/tags"), {"\\\"tags\\\":[]", "!v1"}},
    {{DENY("git://app/main/**")}, READ, URI("git://app/-/branches"), {"[]", "!main"}},
    {{DENY("git://app/main/**")}, READ, URI("git://app/"), {"git://app/HEAD/", "!main"}},
    {{DENY("git://app/-/log/**")}, READ, URI("git://app/"), {"-/tags", "!-/log"}},
    {{DENY("git://app/-/commit/**"), ALLOW("git://app/-/commit/HEAD")},
     READ,
     URI("git://app/-/commit/HEAD"),
     {"second", "\\\"parents\\\":[]"}},
    {{DENY("git://app/-/diff/**")},
     READ,
     URI("git://app/-/commit/HEAD"),
     {"parents", "!diff", "\\\"files\\\":[]"}},
    {NO_KEY, READ, URI("git://app/-/commit/HEAD"), {"open.md", "!secret"}},
    {NO_KEY, READ, URI("git://app/-/commit/v1"), {"open.md", "!secret"}},
    {NO_KEY, READ, URI("git://app/-/log/HEAD?files=9"), {"open.md", "!secret"}},
    {{DENY("git://app/-/commit/**")},
     READ,
     URI("git://app/-/log/HEAD"),
     {"[]", "!second", "!first"}},
    {{DENY("git://app/-/commit/**")},
     READ,
     URI("git://app/-/blame/HEAD/open.md"),
     {"\\\"line\\\":1", "!second", "!Ada", "!commit"}},
    {NO_KEY, READ, URI("git://app/-/diff/v1/HEAD"), {"MARK(open2)", "!secret"}},
    {NO_KEY, READ, URI("git://app/-/diff/v1/HEAD/open.md"), {"MARK(open2)"}},
    {{DENY("git://app/HEAD/secret.key")},
     READ,
     URI("git://app/-/diff/v1/HEAD/secret.key"),
     {"-MARK(secret)", "deleted", "!MARK(secret2)"}},
    {{DENY("git://app/*/secret.key")}, READ, URI("git://app/-/diff/v1/HEAD/secret.key"), NOT_HERE},
    {{DENY("git://app/*/secret.key")}, READ, URI("git://app/-/diff/v1/HEAD"), {"open2", "!secret"}},
    {{DENY("git://app/-/diff/*/*/secret.key")},
     READ,
     URI("git://app/-/diff/v1/HEAD"),
     {"open2", "!secret"}},
    {{DENY("git://app/*/secret.key")}, READ, URI("git://app/-/blame/v1/secret.key"), {NOT_FOUND}},
    {{DENY("git://app/*/secret.key")}, READ, URI("git://app/-/log/v1/secret.key"), {NOT_FOUND}},
    {NO_KEY, READ, URI("file://$T/docs/sub"), {"\"text\":\"\"", "!key", "!more"}},
    {NO_KEY, READ, URI("file://$T/docs/many"), {"x.md", "y.md", "!hidden", "!more"}},
    {NO_KEY, READ, URI("file://$T/docs/many?limit=2"), {"x.md", "y.md", "!hidden", "!more"}},
    {NO_KEY,
     READ,
     URI("file://$T/docs/many?limit=1"),
     {"x.md", "!y.md", "!hidden", "more entries"}},
    {NO_KEY, READ, URI("file://$T/docs?depth=2"), {"many/y.md", "sub", "!key", "!more"}},
    {{DENY("file://$T/docs/plan.txt"), DENY("file://$T/docs/sub**")},
     READ,
     URI("file://$T/docs?limit=2"),
     {"many", "open.md", "!plan", "!more"}},
};

static void test_listings(void **state)
{
    (void)state;
    check_both(listings, COUNT(listings));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_subscriptions),
        cmocka_unit_test(test_completions),
        cmocka_unit_test(test_listings),
    };
    return run_in_world(tests, .script = script);
}
