/* The client behind a trusted proxy: compares the parser of addresses with the system's functions
 * and the evaluation of lists with a slow model, and tests the uses of the address.
 */
#include "rig.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "http/server/http_session.h"

static uint32_t seed = 1;

static unsigned below(unsigned n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* Parses an address with the system's functions. Returns false if it is invalid. */
static bool model_read(const char *text, unsigned char to[16])
{
    struct in_addr v4;
    if (inet_pton(AF_INET, text, &v4) == 1) {
        memset(to, 0, 10);
        to[10] = to[11] = 0xff;
        memcpy(to + 12, &v4, 4);
        return true;
    }
    return inet_pton(AF_INET6, text, to) == 1;
}

static void check_text(const char *text)
{
    mcp__http_ip ip;
    unsigned char want[16];
    bool good = model_read(text, want);
    if (mcp__http_ip_read(mcp_str_from(text), &ip) != good)
        fail_msg("'%s' is %s", text, good ? "an address" : "none");
    if (!good)
        return;
    assert_memory_equal(ip.bytes, want, 16);
    char written[MCP__HTTP_IP_TEXT];
    unsigned char again[16];
    mcp__http_ip_write(&ip, written);
    assert_true(model_read(written, again));
    assert_memory_equal(again, want, 16);
    char system[INET6_ADDRSTRLEN];
    if (want[0] || want[1]) { /* it writes some that begin with zeros with dots */
        inet_ntop(AF_INET6, want, system, sizeof(system));
        assert_string_equal(written, system);
    }
}

static void test_texts(void **state)
{
    static const char *const texts[] = {"",
                                        "1.2.3.4",
                                        "255.255.255.255",
                                        "256.1.1.1",
                                        "1.2.3",
                                        "1.2.3.4.5",
                                        "01.2.3.4",
                                        "1.2.3.",
                                        "1..2.3",
                                        "::",
                                        "::1",
                                        "1::",
                                        ":1",
                                        "1:",
                                        ":::",
                                        "1:::2",
                                        "1::2::3",
                                        "1:2:3:4:5:6:7:8",
                                        "1:2:3:4:5:6:7::",
                                        "::2:3:4:5:6:7:8",
                                        "1:2:3:4:5:6:7",
                                        "1:2:3:4:5:6:7:8:9",
                                        "12345::",
                                        "g::",
                                        "::ffff:1.2.3.4",
                                        "::1.2.3.4",
                                        "1.2.3.4::",
                                        "1:2:3:4:5:6:1.2.3.4",
                                        "1:2:3:4:5:6:7:1.2.3.4",
                                        "fe80::1%eth0",
                                        "unknown",
                                        " 1.2.3.4",
                                        "-1.2.3.4",
                                        "2001:db8:0:0:1:0:0:1",
                                        "2001:0:0:1::",
                                        "ABCD::EF"};
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        check_text(texts[i]);
}

static void test_generated_texts(void **state)
{
    static const char *const pieces[] = {"0", "1",  "ffff",    "::",   ":",
                                         ".", "25", "1.2.3.4", "2001", "a"};
    (void)state;
    for (int i = 0; i < 200000; i++) {
        char text[100] = "";
        bool v6 = below(2);
        for (unsigned k = 1 + below(v6 ? 9 : 6); k; k--) {
            strcat(text, pieces[below(COUNT(pieces))]);
            if (k > 1 && below(4))
                strcat(text, v6 ? ":" : ".");
        }
        check_text(text);
    }
    for (int i = 0; i < 20000; i++) {
        unsigned char bytes[16];
        char text[INET6_ADDRSTRLEN];
        for (size_t k = 0; k < 16; k += 2) {
            bytes[k] = (unsigned char)(below(2) ? 0 : below(256));
            bytes[k + 1] = (unsigned char)(below(2) ? 0 : below(256));
        }
        inet_ntop(AF_INET6, bytes, text, sizeof(text));
        check_text(text);
    }
}

static void test_hosts(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {{"192.0.2.1", "192.0.2.1"},
                {"192.0.2.1:80", "192.0.2.1"},
                {"192.0.2.1:65536", NULL},
                {"192.0.2.1:", NULL},
                {"192.0.2.1:8o", NULL},
                {"2001:db8::1", "2001:db8::1"},
                {"[2001:db8::1]", "2001:db8::1"},
                {"[2001:db8::1]:80", "2001:db8::1"},
                {"[2001:db8::1]80", NULL},
                {"[2001:db8::1]:", NULL},
                {"[2001:db8::1", NULL},
                {"[192.0.2.1]:80", NULL},
                {"[]", NULL},
                {"[", NULL},
                {"::ffff:192.0.2.1", "192.0.2.1"},
                {"[::ffff:c000:201]:1", "192.0.2.1"},
                {"unknown", NULL},
                {"\"192.0.2.1\"", NULL},
                {"", NULL}};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        mcp__http_ip ip;
        char text[MCP__HTTP_IP_TEXT];
        bool good = mcp__http_ip_read_host(mcp_str_from(rows[i].text), &ip);
        if (good != (rows[i].want != NULL))
            fail_msg("'%s'", rows[i].text);
        if (good) {
            mcp__http_ip_write(&ip, text);
            assert_string_equal(text, rows[i].want);
        }
    }
}

/* Compares the first `bits` bits one by one. */
static bool model_has(const unsigned char a[16], const unsigned char b[16], unsigned bits)
{
    for (unsigned i = 0; i < bits; i++)
        if ((a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1)
            return false;
    return true;
}

static void test_networks(void **state)
{
    static const char *const bad[] = {"",      "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/x",
                                      "/8",    "::/129",    "host",        "10.0.0.0/08",
                                      "[::1]", "unix:",     "1.2.3.4:80"};
    mcp__http_network n;
    mcp__http_ip ip;
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(mcp__http_network_read(mcp_str_from(bad[i]), &n));
    for (int i = 0; i < 50000; i++) {
        char text[INET6_ADDRSTRLEN + 8];
        unsigned char a[16], b[16];
        bool v4 = below(2);
        unsigned bits = below(v4 ? 33 : 129), flip = below(v4 ? 32 : 128);
        for (size_t k = 0; k < 16; k++)
            a[k] = b[k] = (unsigned char)(v4 && k < 12 ? (k < 10 ? 0 : 0xff) : 1 + below(255));
        flip += v4 ? 96 : 0;
        b[flip / 8] ^= (unsigned char)(below(4) ? 128 >> flip % 8 : 0);
        inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? a + 12 : a, text, INET6_ADDRSTRLEN);
        snprintf(text + strlen(text), 8, "/%u", bits);
        assert_true(mcp__http_network_read(mcp_str_from(text), &n));
        memcpy(ip.bytes, b, 16);
        assert_int_equal(mcp__http_network_has(&n, &ip), model_has(a, b, bits + (v4 ? 96 : 0)));
    }
    assert_true(mcp__http_network_read(MCP_STR("::/0"), &n));
    assert_true(mcp__http_ip_read(MCP_STR("10.0.0.1"), &ip));
    assert_false(mcp__http_network_has(&n, &ip));
}

/* ---- requests -------------------------------------------------------------------------------- */

static const char *const proxies[] = {"10.0.0.0/8", "2001:db8:1::/48", "127.0.0.1", "unix"};
static char client[MCP__HTTP_IP_TEXT];
static int code;
static const char *header; /* mcp_http_options.proxy_header */

static void keep_client(const mcp_http_record *record, void *user)
{
    (void)user;
    snprintf(client, sizeof(client), "%s", record->client);
    code = record->status;
}

static void begin(rig *r, size_t max)
{
    rig_begin(r, &(mcp_http_options){.trusted_proxies = proxies,
                                     .n_trusted_proxies = COUNT(proxies),
                                     .max_per_address = max,
                                     .proxy_header = header,
                                     .log = keep_client});
}

static void open_as(wire *w, rig *r, const char *peer, const char *address)
{
    *w = (wire){.rig = r};
    assert_int_equal(mcp_http_accept(r->http,
                                     MCP_OPTIONS(mcp_http_connection_options, .write = wire_write,
                                                 .close = wire_close, .user = w, .peer = peer,
                                                 .address = address,
                                                 .trusted_host = strcmp(address, "unix") == 0),
                                     r->now, &w->c, NULL),
                     MCP_OK);
}

/* `headers` is complete lines. */
static void get(wire *w, const char *headers)
{
    char text[4000];
    snprintf(text, sizeof(text), "GET /metrics HTTP/1.1\r\nHost: localhost\r\n%s\r\n", headers);
    wire_bytes(w, text, strlen(text));
    wire_clear(w);
}

static void test_who(void **state)
{
    static const struct {
        const char *peer, *address, *headers, *want;
    } rows[] = {
        {"10.0.0.1:1", "10.0.0.1", "", "10.0.0.1"},
        {"10.0.0.1:1", "10.0.0.1", "X-Forwarded-For: 192.0.2.7\r\n", "192.0.2.7"},
        {"10.0.0.1:1", "10.0.0.1", "x-forwarded-for:\t192.0.2.7:99 \r\n", "192.0.2.7"},
        {"10.0.0.1:1", "10.0.0.1", "X-Forwarded-For: 1.1.1.1, 192.0.2.7,10.2.3.4\r\n", "192.0.2.7"},
        {"10.0.0.1:1", "10.0.0.1", "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 192.0.2.7\r\n",
         "192.0.2.7"},
        {"10.0.0.1:1", "10.0.0.1", "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-For: 10.1.1.1\r\n",
         "192.0.2.7"},
        {"10.0.0.1:1", "10.0.0.1", "X-Forwarded-For: 10.3.3.3, 10.1.1.1\r\n", "10.3.3.3"},
        {"10.0.0.1:1", "10.0.0.1", "X-Forwarded-For: unknown\r\n", "10.0.0.1"},
        {"10.0.0.1:1", "10.0.0.1", "X-Forwarded-For: 192.0.2.7, unknown, 10.1.1.1\r\n", "10.0.0.1"},
        {"10.0.0.1:1", "10.0.0.1", "X-Forwarded-For: 192.0.2.7,\r\n", "10.0.0.1"},
        {"10.0.0.1:1", "10.0.0.1", "X-Forwarded-For:\r\n", "10.0.0.1"},
        {"10.0.0.1:1", "10.0.0.1", "X-Forwarded-For: unknown, 192.0.2.7\r\n", "192.0.2.7"},
        {"[2001:db8:1::5]:1", "2001:db8:1::/64", "X-Forwarded-For: 2001:db8:2::7\r\n",
         "2001:db8:2::7"},
        {"[2001:db8:2::5]:1", "2001:db8:2::/64", "X-Forwarded-For: 192.0.2.7\r\n", "2001:db8:2::5"},
        {"[::ffff:10.0.0.1]:1", "10.0.0.1", "X-Forwarded-For: ::ffff:192.0.2.7\r\n", "192.0.2.7"},
        {"11.0.0.1:1", "11.0.0.1", "X-Forwarded-For: 192.0.2.7\r\n", "11.0.0.1"},
        {"10.0.0.1:1", "10.0.0.1", "Forwarded: for=192.0.2.7\r\n", "10.0.0.1"},
        {"unix:pid=1", "unix", "X-Forwarded-For: 192.0.2.7\r\n", "192.0.2.7"},
        {"unix:pid=1", "unix", "", "unix"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        rig r;
        wire w;
        begin(&r, 0);
        open_as(&w, &r, rows[i].peer, rows[i].address);
        get(&w, rows[i].headers);
        assert_int_equal(code, 200);
        assert_string_equal(client, rows[i].want);
        get(&w, ""); /* the next request on the connection may have another address */
        mcp__http_ip ip;
        char own[MCP__HTTP_IP_TEXT] = "unix";
        if (mcp__http_ip_read_host(mcp_str_from(rows[i].peer), &ip))
            mcp__http_ip_write(&ip, own);
        assert_string_equal(client, own);
        wire_end(&w);
        rig_end(&r);
    }
}

/* Forwarded (RFC 7239) instead of X-Forwarded-For. */
#define F      "Forwarded: "
#define N      "\r\n"
#define DIRECT "10.0.0.1"
static const struct {
    const char *headers, *want;
} forwarded_rows[] = {
    {"", DIRECT},
    {F "for=192.0.2.7" N, "192.0.2.7"},
    {F "For=192.0.2.7;proto=https;by=10.0.0.1;host=\"a, \\\"b;c\"" N, "192.0.2.7"},
    {F "proto=https;for=\"192.0.2.7:99\"" N, "192.0.2.7"},
    {F "for=\"[2001:db8:2::7]:99\"" N, "2001:db8:2::7"},
    {F "for=\"[2001:db8:2::7]\"" N, "2001:db8:2::7"},
    {F "for=\"192.0.2.7:_port\"" N, "192.0.2.7"},
    {F "for=\"[2001:db8:2::7]:_p.0-x\"" N, "2001:db8:2::7"},
    {F ";for=192.0.2.7;;" N, "192.0.2.7"},
    {F "\tfor=192.0.2.7 \t" N, "192.0.2.7"},
    {F "for=1.1.1.1, for=192.0.2.7,for=10.2.3.4" N, "192.0.2.7"},
    {F "for=1.1.1.1" N F "for=192.0.2.7" N F "for=10.1.1.1" N, "192.0.2.7"},
    {F "for=10.3.3.3, for=10.1.1.1" N, "10.3.3.3"},
    {F "for=unknown, for=192.0.2.7" N, "192.0.2.7"},
    {F "for=\"" N F "for=192.0.2.7" N, "192.0.2.7"},
    {F "for=192.0.2.7;secret=\"a\\\"b\"" N, "192.0.2.7"},
    {"X-Forwarded-For: 192.0.2.66" N F "for=192.0.2.7" N "X-Forwarded-For: 192.0.2.67" N,
     "192.0.2.7"},
    {"X-Forwarded-For: 192.0.2.66" N, DIRECT},
    /* no addresses */
    {F N, DIRECT},
    {F "for=unknown" N, DIRECT},
    {F "for=_hidden" N, DIRECT},
    {F "for=\"_hidden:_port\"" N, DIRECT},
    {F "for=192.0.2.7, proto=https" N, DIRECT},
    {F "for=192.0.2.7," N, DIRECT},
    {F "for=192.0.2.7, for=unknown, for=10.1.1.1" N, DIRECT},
    {F "for=\"192.0.2.7:_\"" N, DIRECT},
    {F "for=\"192.0.2.7:\"" N, DIRECT},
    {F "for=\"192.0.2.7:99999\"" N, DIRECT},
    {F "for=\"\"" N, DIRECT},
    {F "for=\"2001:db8:2::7\"" N, DIRECT}, /* without brackets */
    {F "for=\"[192.0.2.7]\"" N, DIRECT},
    {F "for=\"192.0.2.\\7\"" N, DIRECT},
    /* malformed */
    {F "for=[2001:db8:2::7]" N, DIRECT},
    {F "for=192.0.2.7:99" N, DIRECT},
    {F "for=192.0.2.7;for=192.0.2.8" N, DIRECT},
    {F "for =192.0.2.7" N, DIRECT},
    {F "for= 192.0.2.7" N, DIRECT},
    {F "for=192.0.2.7; proto=https" N, DIRECT},
    {F "for=192.0.2.7 for=192.0.2.8" N, DIRECT},
    {F "for" N, DIRECT},
    {F "for=" N, DIRECT},
    {F "=192.0.2.7" N, DIRECT},
    {F "192.0.2.7" N, DIRECT},
    {F "for=\"192.0.2.7" N, DIRECT},
    {F "for=\"192.0.2.7\\" N, DIRECT},
    {F "for=\"192.0.2.7\"x" N, DIRECT},
    /* a client that leaves a string open does not choose an address */
    {F "for=\"x, for=192.0.2.7" N, DIRECT},
    {F "for=\"x, for=\"[2001:db8:2::7]\"" N, DIRECT},
    {F "x=\", for=192.0.2.66, for=\"192.0.2.7\"" N, DIRECT},
};

static void test_forwarded_who(void **state)
{
    rig r;
    wire w;
    (void)state;
    header = "forwarded";
    begin(&r, 0);
    open_as(&w, &r, "10.0.0.1:1", "10.0.0.1");
    for (size_t i = 0; i < COUNT(forwarded_rows); i++) {
        get(&w, forwarded_rows[i].headers);
        assert_int_equal(code, 200);
        if (strcmp(client, forwarded_rows[i].want) != 0)
            fail_msg("%s: %s", forwarded_rows[i].headers, client);
    }
    wire_end(&w);
    open_as(&w, &r, "11.0.0.1:1", "11.0.0.1"); /* no proxy */
    get(&w, F "for=192.0.2.7" N);
    assert_string_equal(client, "11.0.0.1");
    wire_end(&w);
    rig_end(&r);
    header = NULL;
}
#undef F
#undef N
#undef DIRECT

/* The model: examines the entries from the right, each time from the start. */
static const char *model(const char *const *entries, size_t n, const char *own)
{
    for (size_t i = n; i-- > 0;) {
        unsigned char bytes[16];
        if (!model_read(entries[i], bytes))
            return own;
        if (strncmp(entries[i], "10.", 3) != 0 && strncmp(entries[i], "2001:db8:1:", 11) != 0 &&
            strcmp(entries[i], "127.0.0.1") != 0)
            return entries[i];
    }
    return n ? entries[0] : own;
}

static void test_generated_lists(void **state)
{
    static const char *const all[] = {
        "10.0.0.9",  "10.255.0.1", "2001:db8:1::9", "127.0.0.1",   "::1",       "",      "unknown",
        "192.0.2.7", "192.0.2.8",  "11.0.0.1",      "2001:db8::7", "127.0.0.2", "1.2.3", "fe80::1"};
    rig r;
    wire w;
    (void)state;
    begin(&r, 0);
    open_as(&w, &r, "10.0.0.1:1", "10.0.0.1");
    for (int i = 0; i < 5000; i++) {
        const char *entries[8];
        char headers[1000] = "";
        size_t n = below(7);
        for (size_t k = 0; k < n; k++) {
            entries[k] = all[below(3) ? below(4) : below(COUNT(all))];
            bool line = k == 0 || below(3) == 0;
            strcat(headers, !line ? (below(2) ? ", " : ",")
                            : k   ? "\r\nX-Forwarded-For: "
                                  : "X-Forwarded-For: ");
            strcat(headers, entries[k]);
        }
        strcat(headers, n ? "\r\n" : "");
        get(&w, headers);
        assert_int_equal(code, 200);
        if (strcmp(client, model(entries, n, "10.0.0.1")) != 0)
            fail_msg("%s: %s", headers, client);
    }
    wire_end(&w);
    rig_end(&r);
}

static const char listen_body[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{"
    "\"notifications\":{\"resourcesListChanged\":true}," RIG_META "}}";

static void listen_as(wire *w, const char *forwarded)
{
    char text[2000];
    snprintf(text, sizeof(text),
             "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
             "Mcp-Method: subscriptions/listen\r\nX-Forwarded-For: %s\r\nContent-Length: "
             "%zu\r\n\r\n%s",
             forwarded, strlen(listen_body), listen_body);
    wire_clear(w);
    wire_bytes(w, text, strlen(text));
}

/* A connection of a proxy counts for the client's address while a request of the client is on it. */
static void test_per_address(void **state)
{
    rig r;
    wire w[6];
    (void)state;
    begin(&r, 2);
    for (size_t i = 0; i < COUNT(w); i++) /* more than two of the proxy itself */
        open_as(&w[i], &r, "10.0.0.1:1", "10.0.0.1");
    for (size_t i = 0; i < 3; i++) {
        char from[40];
        snprintf(from, sizeof(from), "2001:db8:9::%zu", i + 1);
        listen_as(&w[i], from);
        assert_non_null(strstr(wire_text(&w[i]), i < 2 ? "HTTP/1.1 200" : "HTTP/1.1 503"));
    }
    assert_non_null(strstr(wire_text(&w[2]), "max_per_address"));
    listen_as(&w[3], "2001:db8:9:1::1");
    assert_non_null(strstr(wire_text(&w[3]), "HTTP/1.1 200"));
    wire_end(&w[0]);
    listen_as(&w[4], "2001:db8:9::4");
    assert_non_null(strstr(wire_text(&w[4]), "HTTP/1.1 200"));
    for (size_t i = 1; i < COUNT(w); i++)
        wire_end(&w[i]);
    rig_end(&r);
}

static int every(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_text(req, "done");
}

/* Returns how many calls on one connection succeed with the default limits. */
static int good_calls(const char *peer, const char *address, const char *const *from, size_t n_from)
{
    static const mcp_tool tool = {.size = sizeof(tool), .name = "every", .call = every};
    static const char body[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
        "\"name\":\"every\"," RIG_META "}}";
    rig r = {.now = 1000};
    wire w;
    mcp_server *server;
    int good = 0;
    r.allocator = failalloc_allocator(&r.memory);
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "s", .version = "1",
                                                .allocator = &r.allocator),
                                    &server, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_add_tool(server, &tool, NULL, NULL), MCP_OK);
    assert_int_equal(mcp_http_new(server,
                                  MCP_OPTIONS(mcp_http_options, .random = rig_random, .user = &r,
                                              .allocator = &r.allocator, .trusted_proxies = proxies,
                                              .n_trusted_proxies = COUNT(proxies)),
                                  &r.http, NULL),
                     MCP_OK);
    open_as(&w, &r, peer, address);
    for (size_t k = 0; k < 2100 * n_from; k++) {
        char text[2000];
        snprintf(
            text, sizeof(text),
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
            "Mcp-Method: tools/call\r\nMcp-Name: every\r\nX-Forwarded-For: "
            "%s\r\nContent-Length: %zu\r\n\r\n%s",
            from[k % n_from], strlen(body), body);
        wire_clear(&w);
        wire_bytes(&w, text, strlen(text));
        good += strstr(wire_text(&w), "\"result\"") != NULL;
    }
    wire_end(&w);
    mcp_http_free(r.http);
    mcp_server_free(server);
    assert_int_equal(r.memory.live, 0);
    return good;
}

static void test_rates(void **state)
{
    static const char *const one[] = {"192.0.2.7"}, *const two[] = {"192.0.2.7", "192.0.2.8"},
                             *const here[] = {"127.0.0.1"};
    (void)state;
    assert_int_equal(good_calls("127.0.0.1:1", "127.0.0.1", one, 1), 2000);
    assert_int_equal(good_calls("127.0.0.1:1", "127.0.0.1", two, 2), 4000);
    assert_int_equal(good_calls("unix:pid=1", "unix", one, 1), 2000);
    assert_int_equal(good_calls("127.0.0.1:1", "127.0.0.1", here, 1), 2100);
    assert_int_equal(good_calls("127.0.0.2:1", "127.0.0.2", one, 1), 2100); /* not trusted */
    /* a loopback address from a remote proxy does not mean this machine */
    assert_int_equal(good_calls("10.0.0.1:1", "10.0.0.1", here, 1), 2000);
}

static void test_refused(void **state)
{
    static const char *const bad[] = {"10.0.0.0/8", "proxy.example"};
    mcp_error error;
    rig r;
    mcp_http *http = NULL;
    (void)state;
    rig_begin(&r, NULL);
    assert_int_equal(mcp_http_new(fixture_server(r.fixture),
                                  MCP_OPTIONS(mcp_http_options, .random = rig_random, .user = &r,
                                              .trusted_proxies = bad, .n_trusted_proxies = 2),
                                  &http, &error),
                     MCP_EINVAL);
    assert_non_null(strstr(error.text, "'proxy.example' is not a proxy's address"));
    assert_int_equal(mcp_http_new(fixture_server(r.fixture),
                                  MCP_OPTIONS(mcp_http_options, .random = rig_random, .user = &r,
                                              .proxy_header = "X-Real-IP"),
                                  &http, &error),
                     MCP_EINVAL);
    assert_non_null(strstr(error.text, "'X-Real-IP' is neither X-Forwarded-For nor Forwarded"));
    rig_end(&r);
}

/* One request through a proxy, with each allocation failing in turn. */
static void test_no_memory(void **state)
{
    (void)state;
    for (size_t fail_at = 1, done = 0; !done; fail_at++) {
        rig r;
        wire w = {.rig = &r};
        const mcp_http_options o = {.trusted_proxies = proxies,
                                    .n_trusted_proxies = COUNT(proxies)};
        assert_true(fail_at < 2000);
        if (rig_begin_with(&r, &o, fail_at) == MCP_OK &&
            mcp_http_accept(r.http,
                            MCP_OPTIONS(mcp_http_connection_options, .write = wire_write,
                                        .close = wire_close, .user = &w, .peer = "10.0.0.1:1",
                                        .address = "10.0.0.1"),
                            r.now, &w.c, NULL) == MCP_OK) {
            get(&w, "X-Forwarded-For: 192.0.2.7\r\n");
            done = r.memory.calls < fail_at;
        }
        if (w.c)
            wire_end(&w);
        rig_end(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),         cmocka_unit_test(test_generated_texts),
        cmocka_unit_test(test_hosts),         cmocka_unit_test(test_networks),
        cmocka_unit_test(test_who),           cmocka_unit_test(test_generated_lists),
        cmocka_unit_test(test_forwarded_who), cmocka_unit_test(test_per_address),
        cmocka_unit_test(test_rates),         cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
