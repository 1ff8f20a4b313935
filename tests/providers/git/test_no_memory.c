/* Every allocation of the provider and of libgit2 fails in turn: the result is an error, not a
 * crash, the next request succeeds, and no memory is leaked. */
#define _GNU_SOURCE
#include "repository.h"

#include "failalloc.h"
#include "gitalloc.h"

#if __has_include(<git2/sys/errors.h>)
#include <git2/sys/errors.h> /* this header has git_error_clear() in later versions */
#endif

static failalloc ours;
static peer p;

/* libgit2 1.5 leaks the copy of a name if an allocation fails later in git_diff_buffers(). This
 * test limits that leak itself, so the leak sanitizer ignores libgit2. The sanitizer must find this
 * function in spite of -fvisibility=hidden. */
enum { LOST = 1 };
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libgit2";
}

/* ---- a host whose timer the test fires ------------------------------------------------------- */

static struct {
    void (*fn)(void *);
    void *arg;
} timer;

static mcp_host_timer *timer_start(uint64_t ms, void (*fn)(void *), void *arg, void *user)
{
    (void)user, (void)ms;
    timer.fn = fn;
    timer.arg = arg;
    return (mcp_host_timer *)(void *)&timer;
}

static void timer_stop(mcp_host_timer *t, void *user)
{
    (void)user, (void)t;
    timer.fn = NULL;
}

static const mcp_host host = {
    .size = sizeof(host), .timer_start = timer_start, .timer_stop = timer_stop};

/* ---- the tested requests --------------------------------------------------------------------- */

#define URI(u) "\"uri\":\"git://r/" u "\""
#define COMPLETE(n, v)                                            \
    "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"git://r/{rev}/" \
    "{+path}{?offset,length,format}\"},"                          \
    "\"argument\":{\"name\":\"" n "\",\"value\":\"" v "\"}"
#define LISTEN(u) \
    "\"notifications\":{\"resourcesListChanged\":true,\"resourceSubscriptions\":[" u "]}"

static const struct {
    const char *method, *params, *has;
} tried[] = {
    {"resources/list", "", "git://r/HEAD/src/x.c"},
    {"resources/read", URI(""), "branches"},
    {"resources/read", URI("HEAD/a.txt"), "three"},
    {"resources/read", URI("v1/"), "src"},
    {"resources/read", URI("HEAD/?limit=1"), "next"},
    {"resources/read", URI("HEAD/big?offset=300000&length=10"), "blob"},
    {"resources/read", URI("HEAD/sub"), "submodule"},
    {"resources/read", URI("-/commit/v1"), "Ada"},
    {"resources/read", URI("-/log/HEAD?limit=1"), "next"},
    {"resources/read", URI("-/log/HEAD/a.txt"), "second"},
    {"resources/read", URI("-/log/HEAD?offset=1"), "first"},
    {"resources/read", URI("-/log/latin?limit=1"), "café"},
    {"resources/read", URI("-/commit/latin"), "café"},
    {"resources/read", URI("-/branches?limit=1"), "next"},
    {"resources/read", URI("-/tags"), "v1"},
    {"resources/read", URI("-/diff/v1/HEAD"), "+2"},
    {"resources/read", URI("-/blame/HEAD/a.txt?lines=2"), "next"},
    {"resources/read", URI("-/status"), "a.txt"},
    {"resources/read", URI("-/unstaged"), "+four"},
    {"resources/read", URI("-/staged"), "+x"},
    {"resources/read", URI("-/log/v1..HEAD"), "second"},
    {"resources/read", URI("-/log/HEAD~1...HEAD?format=text"), "second"},
    {"resources/read", URI("-/diff/v1...HEAD"), "+2"},
    {"resources/read", URI("-/log/HEAD?files=9&format=text"), "    a.txt"},
    {"resources/read", URI("-/log/HEAD?author=ada&text=sec"), "second"},
    {"resources/read", URI("HEAD~1/?format=text"), "a.txt"},
    {"resources/read", URI("-/search/HEAD?text=thr"), "a.txt:3"},
    {"resources/read", URI("-/search/HEAD?regex=t.r&limit=1&format=text"), "a.txt:3"},
    {"completion/complete", COMPLETE("rev", ""), "feature"},
    {"completion/complete", COMPLETE("path", "s"), "src/"},
    {"subscriptions/listen", LISTEN("\"git://r/HEAD/a.txt\",\"git://r/-/branches\",\"git://r/\""),
     ""},
};

static size_t opening[2]; /* allocations of the last call of peer_open(): ours, libgit2's */

static int open_all(void)
{
    mcp_allocator a = failalloc_allocator(&ours);
    p.reply[0] = 0;
    p.page_size = 50;
    int rc = peer_open(&p, "r", &(mcp_git_options){0}, &host, &a);
    opening[0] = ours.calls;
    opening[1] = atomic_load(&gitalloc.calls);
    return rc;
}

/* Fires the timer, which checks the subscribed resources for changes. */
static void look(void)
{
    if (timer.fn)
        timer.fn(timer.arg);
}

static void check_well(size_t i)
{
    if (!strstr(ask(&p, tried[i].method, tried[i].params), tried[i].has))
        fail_msg("%s {%s}: %s", tried[i].method, tried[i].params, p.reply);
}

/* Opens, sends a request and closes, with allocation number `at` failing in one of the two
 * allocators. Returns true if there were fewer allocations, so none failed. */
static bool try_one(size_t i, bool theirs, size_t at)
{
    git_error_clear();
    size_t before = atomic_load(&gitalloc.live);
    ours = (failalloc){.fail_at = theirs ? 0 : at};
    atomic_store(&gitalloc.calls, 0);
    atomic_store(&gitalloc.fail_at, theirs ? at : 0);
    int rc = open_all();
    if (rc == MCP_OK) {
        ask(&p, tried[i].method, tried[i].params);
        look();
    }
    bool late = (theirs ? atomic_load(&gitalloc.calls) : ours.calls) < at;
    ours.fail_at = 0;
    atomic_store(&gitalloc.fail_at, 0);
    if (late && !strstr(p.reply, tried[i].has))
        fail_msg("%s {%s}: %s", tried[i].method, tried[i].params, p.reply);
    assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
    if (late && strcmp(tried[i].method, "subscriptions/listen") == 0)
        assert_non_null(timer.fn); /* the subscription is watched */
    if (rc == MCP_OK && *tried[i].has)
        check_well(i);
    peer_close(&p);
    assert_int_equal(ours.live, 0);
    git_error_clear();
    if (at != SIZE_MAX)
        assert_in_range(atomic_load(&gitalloc.live), before, before + (late ? 0 : LOST));
    return late;
}

/* For the first request, all allocations fail in turn. For the others, only those after opening do. */
static void try_all(bool theirs)
{
    for (size_t i = 0; i < sizeof(tried) / sizeof(*tried); i++)
        for (size_t at = i ? opening[theirs] : 1; !try_one(i, theirs, at); at++)
            ;
}

static void test_ours(void **state)
{
    (void)state;
    try_all(false);
}

static void test_theirs(void **state)
{
    (void)state;
    try_all(true);
}

static int setup(void **state)
{
    (void)state;
    make_top();
    sh("git init -q -b main r; cd r; mkdir src; printf 'one\\ntwo\\nthree\\n' >a.txt; echo x "
       ">src/x.c; head -c 400000 /dev/zero >big; git add .; "
       "git update-index --add --cacheinfo 160000,0123456789012345678901234567890123456789,sub; "
       "git commit -q -m first; git tag -a -m 'the tag' v1; git branch feature; git gc -q; "
       "printf 'one\\n2\\nthree\\n' >a.txt; git add a.txt; git commit -q -m second; git -c "
       "i18n.commitEncoding=ISO-8859-1 commit -q --allow-empty -m \"$(printf 'caf\\351')\"; git "
       "branch latin; git reset -q --hard HEAD~1; git branch "
       "loose; echo four >>a.txt; echo x >staged; git add staged");
    ours = (failalloc){0};
    /* libgit2 then keeps what it allocates only once */
    for (size_t i = 0; i < sizeof(tried) / sizeof(*tried); i++)
        try_one(i, true, SIZE_MAX);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ours), cmocka_unit_test(test_theirs)};
    gitalloc_install();
    return cmocka_run_group_tests(tests, setup, teardown_top);
}
