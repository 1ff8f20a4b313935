/* Which URIs of another server exist. The other server is lenient: it strips, changes to lower case and
 * parses as browsers do, so only one spelling of each of its resources is passed on, and what the
 * configuration says about that one cannot be passed by another.
 */
#include "wires.h"

#include <strings.h>

#include <mcp/access.h>
#include <mcp/sys/forward.h>

static char last_read[600], logged[4000];

/* ---- what a lenient server takes for the same URI --------------------------------------------- */

#define SECRET "note://team/secret.key"

static bool lenient; /* only SECRET is "TOPSECRET" */

/* Removes blanks and control characters at the ends and line ends within, decodes what need not be
 * encoded, and replaces backslashes. */
static void clean(const char *uri, char *to)
{
    size_t n = 0;
    while ((unsigned char)*uri <= ' ' && *uri)
        uri++;
    for (; *uri; uri++) {
        unsigned c = (unsigned char)*uri, x;
        if (c == '\t' || c == '\n' || c == '\r')
            continue;
        if (c == '%' && sscanf(uri + 1, "%2x", &x) == 1 && x > ' ' && x < 0x7f &&
            !strchr("/?#%", (int)x)) {
            c = x;
            uri += 2;
        }
        to[n++] = (char)(c == '\\' ? '/' : c);
    }
    while (n && (unsigned char)to[n - 1] <= ' ')
        n--;
    to[n] = 0;
}

/* Removes a segment that is empty or "." with its slash, and ".." with the one before it. */
static void resolve_dots(char *path)
{
    char *to = path;
    for (char *at = path; *at;) {
        size_t len = 1 + strcspn(at + 1, "/");
        if (len == 3 && memcmp(at, "/..", 3) == 0) {
            while (to > path && *--to != '/')
                ;
        } else if (len > 1 && !(len == 2 && at[1] == '.')) {
            memmove(to, at, len);
            to += len;
        }
        at += len;
    }
    *to = 0;
}

static bool is_secret(const char *uri)
{
    char text[1200], host[600], *rest;
    clean(uri, text);
    text[strcspn(text, "?#")] = 0;
    if (strncasecmp(text, "note:", 5) != 0)
        return false;
    for (rest = text + 5; *rest == '/'; rest++)
        ;
    size_t len = strcspn(rest, "/");
    snprintf(host, sizeof(host), "%.*s", (int)len, rest);
    char *user = strrchr(host, '@'), *begin = user ? user + 1 : host;
    begin[strcspn(begin, ":")] = 0;
    resolve_dots(rest + len);
    return strcasecmp(begin, "team") == 0 && strcmp(rest + len, "/secret.key") == 0;
}

static int read_one(mcp_request *req, mcp_str uri, void *user)
{
    (void)user;
    snprintf(last_read, sizeof(last_read), "%.*s", (int)uri.len, uri.ptr);
    return mcp_reply_text(req, lenient && !is_secret(last_read) ? "open" : "TOPSECRET");
}

static int complete(mcp_request *req, mcp_item item, mcp_str name, void *user)
{
    const mcp_raw raw = {.size = sizeof(raw),
                         .json = MCP_STR("{\"completion\":{\"values\":[\"completed\"]}}")};
    (void)item, (void)name, (void)user;
    return mcp_reply_raw(req, &raw);
}

static int list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    static const char page[] = "{\"resources\":[{\"uri\":\"note://team/a.md\",\"name\":\"a\"},"
                               "{\"uri\":\"note://Team/b.md\",\"name\":\"b\"},"
                               "{\"uri\":\"note://team/c d.md\",\"name\":\"c\"},"
                               "{\"uri\":\"note://team/q.md?v=1\",\"name\":\"q\"}]}";
    const mcp_raw raw = {.size = sizeof(raw), .json = mcp_str_from(page)};
    (void)cursor, (void)max, (void)user;
    return mcp_reply_raw_page(req, &raw);
}

static int list_items(mcp_request *req, mcp_item item, mcp_str cursor, size_t max, void *user)
{
    static const char page[] =
        "{\"resourceTemplates\":[{\"uriTemplate\":\"note://team/{name}{?v}\",\"name\":\"t\"},"
        "{\"uriTemplate\":\"Note://team/upper/{name}\",\"name\":\"u\"},"
        "{\"uriTemplate\":\"http://{host}:{port}/\",\"name\":\"p\"},"
        "{\"uriTemplate\":\"file://{+path}{?tail}\",\"name\":\"f\"},"
        "{\"uriTemplate\":\"{+uri}\",\"name\":\"all\"},"
        "{\"uriTemplate\":\"greeting://{name}\",\"name\":\"g\"},"
        "{\"uriTemplate\":\"db://{host}:{port}/{+path}{#part}\",\"name\":\"d\"}]}";
    const mcp_raw raw = {.size = sizeof(raw), .json = mcp_str_from(page)};
    (void)item, (void)cursor, (void)max, (void)user;
    return mcp_reply_raw_page(req, &raw);
}

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_content(req, MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_LINK, .name = "l",
                                              .uri = "https://Example.org/A%20b#c"));
}

static int resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    (void)user;
    snprintf(canonical, room, "%.*s", (int)uri.len, uri.ptr);
    return MCP_OK;
}

static int watch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
    return MCP_OK;
}

static void unwatch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
}

static void on_log(const char *level, const char *line, void *user)
{
    size_t n = strlen(logged);
    (void)user;
    snprintf(logged + n, sizeof(logged) - n, "%s: %s\n", level, line);
}

static const char *revision; /* of the connection to the other server; NULL: negotiated */

static void open_with(wires *w, const mcp_upstream_options *policy)
{
    static const mcp_provider provider = {.size = sizeof(provider),
                                          .name = "a",
                                          .items = 1u << MCP_ITEM_TEMPLATE,
                                          .opaque = true,
                                          .list = list,
                                          .list_items = list_items,
                                          .read = read_one,
                                          .complete = complete,
                                          .resolve = resolve,
                                          .watch = watch,
                                          .unwatch = unwatch};
    mcp_server *other = NULL;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "a", .version = "1",
                                                .coalesce_ms = 1),
                                    &other, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_mount(other, "", &provider, NULL, NULL), MCP_OK);
    assert_int_equal(
        mcp_server_add_tool(other, MCP_OPTIONS(mcp_tool, .name = "link", .call = call), NULL, NULL),
        MCP_OK);
    logged[0] = 0;
    *w = (wires){.policy = *policy, .max_sessions = 8, .host_log = on_log, .revision = revision};
    assert_int_equal(wires_open(w, other), MCP_OK);
    assert_int_equal(wires_peer(w, w->front, "ann"), MCP_OK);
}

static void close_all(wires *w)
{
    wires_close(w);
    mcp_server_free(w->other);
}

/* Reads a URI, which is JSON text. Returns whether the other server was asked. */
static bool reads(wires *w, const char *uri)
{
    char params[700];
    size_t runs = w->runs;
    last_read[0] = 0;
    snprintf(params, sizeof(params), "\"uri\":\"%s\"", uri);
    const char *reply = wires_ask(w, "resources/read", params);
    bool asked = w->runs > runs;
    if (asked != (strstr(reply, "TOPSECRET") != NULL))
        fail_msg("%s: %s", uri, reply);
    if (!asked)
        wires_has(reply, "Resource not found");
    return asked;
}

/* Listens to a URI. Returns whether that is acknowledged. */
static bool listens(wires *w, const char *uri)
{
    char params[700], quoted[600];
    w->notice[0] = 0;
    snprintf(params, sizeof(params), "\"notifications\":{\"resourceSubscriptions\":[\"%s\"]}", uri);
    wires_ask(w, "subscriptions/listen", params);
    wires_has(w->notice, "acknowledged");
    snprintf(quoted, sizeof(quoted), "[\"%s\"]", uri);
    bool listened = strstr(w->notice, quoted) != NULL;
    wires_say(w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                 "\"requestId\":1}}");
    return listened;
}

/* URIs at the other server, and whether they exist. */
static const struct {
    const char *uri; /* JSON text */
    bool exists;
} forms[] = {
    {"memo://insights", true},
    {"demo://resource/static/document/architecture.md", true},
    {"x:/r", true},
    {"urn:x:%C3%A4", true},
    {"note://team/a-b_c~d.e!$&'()*+,;=:@", true},
    {"note://team/secret.key", true},
    {"note://team/secret.key?", true},
    {"note://team/secret.key?v=1&w=/x//?", true},
    {"note://team/secret.key/", true},
    {"note://team", true},
    {"note:///team/x", true},
    {"note:/team/x", true},
    {"note://team:8080/x", true},
    {"note://team/a%20b%2Fc", true},
    {"note://team/A/B", true},
    {"note://team/a%20b%23c%3Fd", true},
    {"file:///data/A", true},
    {"file://host/x", true},
    {"https://example.org/", true},
    {"https://example.org:8443/x?y#", false},
    {"https://127.0.0.1/x", true},
    {"https://[::1]/x", true},
    {"mcp+in:note://team/x", true},
    {"mcp+in:mcp+deep:ui://w/x", true},
    {"ui://w/x", true},
    /* fragments, white space, control characters, and what RFC 3986 does not allow */
    {"note://team/secret.key#x", false},
    {"note://team/secret.key#", false},
    {"note://team/secret.key?#.md", false},
    {"note://team/secret.key ", false},
    {" note://team/secret.key", false},
    {"note://team/secret.key\\t", false},
    {"note://te\\nam/secret.key", false},
    {"no\\rte://team/secret.key", false},
    {"note://team/secret.key\\u00a0", false},
    {"note://team/secret.key\\u001f", false},
    {"note://team/secret.key\\u0000", false},
    {"note://team\\\\secret.key", false},
    {"note:\\\\\\\\team\\\\secret.key", false},
    {"note://team/\\uff53ecret.key", false},
    {"note://team/s%zzecret", false},
    {"no uri at all", false},
    {"secret.key", false},
    {"", false},
    /* other spellings of RFC 3986 */
    {"Note://team/secret.key", false},
    {"note://Team/secret.key", false},
    {"note://team:/secret.key", false},
    {"note://team:080/secret.key", false},
    {"note://@team/secret.key", false},
    {"note://user@team/secret.key", false},
    {"note://team//secret.key", false},
    {"note://team/x//secret.key", false},
    {"note://team/./secret.key", false},
    {"note://team/x/../secret.key", false},
    {"note://team/..", false},
    {"note:.", false},
    {"note://team/%2e%2e/secret.key", false},
    {"note://team/%73ecret.key", false},
    {"note://team/secret%2Ekey", false},
    {"note://team/a%2fb", false},
    {"note://my%20vault/x", false},
    {"note://team/a%00", false},
    {"note://team/secret.key%0A", false},
    {"note://team/secret.key%7F", false},
    {"note://team/secret.key%20", false},
    {"note://team/%20secret.key", false},
    {"note://team/x%20/secret.key", false},
    {"note:%20x", false},
    {"mcp+in:Note://team/x", false},
    {"mcp+in:note://team//x", false},
    {"mcp+in:x", false},
    /* of those who parse URIs as browsers do */
    {"https://example.org", false},
    {"https://example.org:443/", false},
    {"http://example.org:80/", false},
    {"https:/example.org/", false},
    {"https:example.org", false},
    {"https://ex%61mple.org/", false},
    {"https://ex%C3%A4mple.org/", false},
    {"https://127.1/x", false},
    {"https://0x7f000001/x", false},
    {"https://2130706433/x", false},
    {"https://[0::1]/x", false},
    {"file:/data/secret.key", false},
    {"file://localhost/data/secret.key", false},
    {"file:data", false},
};

static void test_forms(void **state)
{
    (void)state;
    static wires w;
    open_with(&w, &(mcp_upstream_options){0});
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        char here[300];
        bool ui = strncmp(forms[i].uri, "ui://", 5) == 0;
        snprintf(here, sizeof(here), "%s%s",
                 ui ? "ui://mcp+up/" : "mcp+up:", forms[i].uri + (ui ? 5 : 0));
        if (reads(&w, here) != forms[i].exists)
            fail_msg("%s %s", forms[i].uri, forms[i].exists ? "does not exist" : "exists");
        if (forms[i].exists)
            assert_string_equal(last_read, forms[i].uri);
        if (listens(&w, here) != forms[i].exists)
            fail_msg("%s, listened to", forms[i].uri);
    }
    /* the prefixes, and "ui://" */
    static const char *const others[] = {
        "MCP+up:note://team/a",  "mcp+Up:note://team/a", "UI://mcp+up/w/x", "ui://MCP+up/w/x",
        "ui://mcp+up/w/x#",      "ui://mcp+up/W/../x",   "ui://mcp+up/W/x", "ui://mcp+up/w//x",
        "ui://mcp+up/w/%78?a=1", "mcp+up:UI://w/x",      "mcp+up:",
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (reads(&w, others[i]) || listens(&w, others[i]))
            fail_msg("%s exists", others[i]);
    close_all(&w);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        n++;
    return n;
}

static void lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("%s in\n%s", part, text);
}

/* What a list has in another form is left out, and the log says so once. */
static void test_lists(void **state)
{
    (void)state;
    static wires w;
    open_with(&w, &(mcp_upstream_options){0});
    for (int i = 0; i < 3; i++) {
        const char *page = wires_ask(&w, "resources/list", "");
        wires_has(page, "mcp+up:note://team/a.md");
        wires_has(page, "mcp+up:note://team/q.md?v=1");
        lacks(page, "b.md");
        lacks(page, "c d");
        page = wires_ask(&w, "resources/templates/list", "");
        wires_has(page, "mcp+up:note://team/{name}{?v}");
        wires_has(page, "mcp+up:db://{host}:{port}/{+path}{#part}");
        wires_has(page, "mcp+up:http://{host}:{port}/");
        wires_has(page, "mcp+up:file://{+path}{?tail}");
        wires_has(page, "mcp+up:{+uri}");
        wires_has(page, "mcp+up:greeting://{name}");
        lacks(page, "upper");
    }
    assert_int_equal(count(logged, "\"note://Team/b.md\" is not offered"), 1);
    assert_int_equal(count(logged, "\"note://team/c d.md\" is not offered"), 1);
    assert_int_equal(count(logged, "\"Note://team/upper/{name}\" is not offered"), 1);
    lacks(logged, "a.md");
    /* Without rules, what a result links to is not the server's, and stays. */
    wires_has(wires_ask(&w, "tools/call", "\"name\":\"up_link\""), "https://Example.org/A%20b#c");
    close_all(&w);
}

static bool completes(wires *w, const char *ref)
{
    char params[300];
    snprintf(params, sizeof(params),
             "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"mcp+up:%s\"},"
             "\"argument\":{\"name\":\"name\",\"value\":\"\"}",
             ref);
    return strstr(wires_ask(w, "completion/complete", params), "completed") != NULL;
}

/* What is hidden is so with every query, and what is offered is not offered because of one. */
static void test_queries(void **state)
{
    (void)state;
    static wires w;
    static const char *const hide[] = {"*.key", "*?raw=*", "note://team/{x}", NULL},
                             *const only[] = {"note://team/*.md", "note://t/{name}{?v}", NULL};
    open_with(&w, &(mcp_upstream_options){.hide_resources = hide});
    assert_true(reads(&w, "mcp+up:note://team/a.md?v=1"));
    assert_false(reads(&w, "mcp+up:note://team/secret.key"));
    assert_false(reads(&w, "mcp+up:note://team/secret.key?"));
    assert_false(reads(&w, "mcp+up:note://team/secret.key?x"));
    assert_false(reads(&w, "mcp+up:note://team/a.md?raw=1"));
    assert_false(listens(&w, "mcp+up:note://team/secret.key?x"));
    assert_true(completes(&w, "note://team/{y}"));
    assert_false(completes(&w, "note://team/{x}"));
    assert_false(completes(&w, "note://team/{x}{?v}"));
    assert_false(completes(&w, "note://%74eam/{x}"));
    assert_false(completes(&w, "Note://team/{x}"));
    close_all(&w);
    open_with(&w, &(mcp_upstream_options){.only_resources = only});
    assert_true(reads(&w, "mcp+up:note://team/a.md"));
    assert_true(reads(&w, "mcp+up:note://team/a.md?v=1"));
    assert_false(reads(&w, "mcp+up:note://team/secret.key?.md"));
    assert_false(reads(&w, "mcp+up:note://team/secret.key#.md"));
    assert_false(listens(&w, "mcp+up:note://team/secret.key?.md"));
    assert_true(completes(&w, "note://t/{name}{?v}"));
    close_all(&w);
}

/* Rules get the part before the query, or all if they can tell it from the rest. */
static char asked[300];

static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)user;
    if (item == MCP_ITEM_RESOURCE)
        snprintf(asked, sizeof(asked), "%.*s", (int)name.len, name.ptr);
    return true;
}

static void test_rules(void **state)
{
    (void)state;
    static wires w;
    open_with(&w, &(mcp_upstream_options){0});
    for (int queries = 0; queries < 2; queries++) {
        assert_int_equal(
            mcp_server_set_access(w.front, MCP_OPTIONS(mcp_access, .may = may, .queries = queries)),
            MCP_OK);
        assert_true(reads(&w, "mcp+up:note://team/a.md?v=1"));
        assert_string_equal(asked,
                            queries ? "mcp+up:note://team/a.md?v=1" : "mcp+up:note://team/a.md");
        assert_true(reads(&w, "ui://mcp+up/w/x?v=1"));
        assert_string_equal(asked, queries ? "mcp+up:ui://w/x?v=1" : "mcp+up:ui://w/x");
        asked[0] = 0;
        assert_false(reads(&w, "mcp+up:note://team//a.md"));
        assert_false(reads(&w, "MCP+up:note://team/a.md"));
        assert_string_equal(asked, "");
    }
    close_all(&w);
}

/* ---- generated spellings ---------------------------------------------------------------------- */

static uint64_t dice = 1;

static uint32_t below(uint32_t n)
{
    dice = dice * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(dice >> 33) % n;
}

static void insert(char *uri, size_t at, const char *text)
{
    size_t len = strlen(text);
    memmove(uri + at + len, uri + at, strlen(uri + at) + 1);
    memcpy(uri + at, text, len);
}

/* Changes the spelling in one way. */
static void respell(char *uri)
{
    static const char *const inside[] = {"\t", "\n", "\r"}, *const ends[] = {"#",    "#.md",   "?",
                                                                             "?.md", "?a#.md", " ",
                                                                             "\t",   "\x1f"},
                             *const segments[] = {"/",         "/.", "/x/..", "/%2e",
                                                  "/x/%2E%2e", "\\", "/\\"};
    char encoded[4];
    size_t len = strlen(uri), at = below((uint32_t)len);
    char *host = strstr(uri, "team"), *path = strstr(uri, "/secret");
    switch (below(8)) {
    case 0: insert(uri, at, inside[below(3)]); break;
    case 1: insert(uri, len, ends[below(8)]); break;
    case 2: insert(uri, 0, ends[5 + below(3)]); break;
    case 3:
        if (path)
            insert(uri, (size_t)(path - uri), segments[below(7)]);
        break;
    case 4:
        if (host)
            insert(uri, (size_t)(host - uri), below(2) ? "@" : "u:p@");
        break;
    case 5:
        if (host)
            insert(uri, (size_t)(host - uri) + 4, ":");
        break;
    case 6:
        uri[at] = (char)(at < 11 && uri[at] >= 'a' && uri[at] <= 'z' ? uri[at] - 32 : uri[at]);
        break;
    default:
        if (uri[at] < 'a' || uri[at] > 'z' || at < 7)
            break;
        snprintf(encoded, sizeof(encoded), below(2) ? "%%%02X" : "%%%02x", (unsigned)uri[at]);
        memmove(uri + at, uri + at + 1, strlen(uri + at));
        insert(uri, at, encoded);
    }
}

static void quote(const char *text, char *to)
{
    for (; *text; text++)
        to += (unsigned char)*text < ' ' || *text == '\\' || *text == '"'
                  ? sprintf(to, "\\u%04x", (unsigned char)*text)
                  : sprintf(to, "%c", *text);
    *to = 0;
}

static bool may_not_secret(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)user;
    return item != MCP_ITEM_RESOURCE || !mcp_str_eq(name, MCP_STR("mcp+up:" SECRET));
}

static bool may_md(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)user;
    return item != MCP_ITEM_RESOURCE ||
           (name.len > 3 && memcmp(name.ptr + name.len - 3, ".md", 3) == 0);
}

/* Opens with one of the four ways to keep SECRET from a caller. */
static void open_with_policy(wires *w, int policy)
{
    static const char *const secret[] = {SECRET, NULL}, *const md[] = {"*.md", NULL};
    open_with(w, &(mcp_upstream_options){.hide_resources = policy == 0 ? secret : NULL,
                                         .only_resources = policy == 1 ? md : NULL});
    if (policy > 1)
        mcp_server_set_access(
            w->front, MCP_OPTIONS(mcp_access, .may = policy == 2 ? may_not_secret : may_md));
}

static void respell_often(char uri[400])
{
    strcpy(uri, SECRET);
    for (uint32_t k = below(4); k; k--)
        respell(uri);
}

static size_t number_of_uris(void)
{
    const char *set = getenv("MCP_ACCESS_URIS");
    return (set ? strtoul(set, NULL, 10) : 10000) / 4;
}

/* However a resource is spelled that is hidden, not offered, denied or not allowed, nobody reads it or
 * subscribes to it, although the other server takes most of these spellings for it. */
static void test_generated(void **state)
{
    (void)state;
    static wires w;
    size_t n = number_of_uris(), same = 0;
    lenient = true;
    for (int policy = 0; policy < 4; policy++) {
        open_with_policy(&w, policy);
        for (size_t i = 0; i < n; i++) {
            char uri[400], quoted[1600], params[1700];
            respell_often(uri);
            quote(uri, quoted);
            snprintf(params, sizeof(params), "\"uri\":\"mcp+up:%s\"", quoted);
            if (strstr(wires_ask(&w, "resources/read", params), "TOPSECRET"))
                fail_msg("policy %d: %s is read", policy, quoted);
            same += is_secret(uri);
            snprintf(params, sizeof(params), "mcp+up:%s", quoted);
            if (i % 8 == 0 && is_secret(uri) && strlen(quoted) < 100 && listens(&w, params))
                fail_msg("policy %d: %s is listened to", policy, quoted);
        }
        close_all(&w);
    }
    assert_true(same > n); /* of 4 * n */
    lenient = false;
}

/* Makes the peer one of a revision with sessions. */
static void greet(wires *w)
{
    assert_int_equal(wires_peer(w, w->front, "ann"), MCP_OK);
    wires_say(w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                 "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{"
                 "\"name\":\"c\",\"version\":\"1\"}}}");
    wires_say(w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

static bool subscribes(wires *w, const char *quoted)
{
    char message[2000];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/subscribe\",\"params\":{\"uri\":"
             "\"mcp+up:%.1600s\"}}",
             quoted);
    return strstr(wires_say(w, message), "\"result\":{}") != NULL;
}

/* The other server announces a change. Returns whether the peer hears of one. */
static bool announces(wires *w, const char *quoted)
{
    char message[2000];
    size_t before = w->notices;
    snprintf(
        message, sizeof(message),
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":"
        "\"%.1600s\"}}",
        quoted);
    wires_inject(w, message);
    return w->notices > before;
}

/* Nor does anybody subscribe to it by resources/subscribe, or hear of its changes, however the other
 * server spells them. */
static void test_announced(void **state)
{
    (void)state;
    static wires w;
    enum { EACH = 500 }; /* spellings for each peer */
    size_t n = number_of_uris() / 8, same = 0;
    lenient = true;
    revision = "2025-06-18";
    for (int policy = 0; policy < 4; policy++) {
        open_with_policy(&w, policy);
        for (size_t i = 0; i < n; i++) {
            char uri[400], quoted[1600];
            if (i % EACH == 0) {
                greet(&w);
                assert_true(subscribes(&w, "note://team/open.md"));
            }
            respell_often(uri);
            if (!is_secret(uri))
                continue;
            same++;
            quote(uri, quoted);
            if (subscribes(&w, quoted))
                fail_msg("policy %d: %s is subscribed to", policy, quoted);
            if (announces(&w, quoted))
                fail_msg("policy %d: %s is announced", policy, quoted);
            if (i % EACH < 8 && !announces(&w, "note://team/open.md"))
                fail_msg("policy %d: what is allowed is not announced", policy);
        }
        close_all(&w);
    }
    assert_true(same > n); /* of 4 * n */
    revision = NULL;
    lenient = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),     cmocka_unit_test(test_lists),
        cmocka_unit_test(test_queries),   cmocka_unit_test(test_rules),
        cmocka_unit_test(test_generated), cmocka_unit_test(test_announced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
