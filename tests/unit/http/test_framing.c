/* Where a request ends: every combination of Transfer-Encoding and Content-Length against a model. What
 * is refused closes the connection, so that no byte after its head is read as another request. */
#include "rig.h"

#define LIST                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{"   \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}}}"
#define NEXT "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

typedef enum verdict {
    GOOD,
    BAD,     /* 400 */
    UNKNOWN, /* 501 */
} verdict;

static const struct coding {
    const char *value;
    verdict verdict;
} codings[] = {
    {NULL, GOOD}, /* there is none */
    {"chunked", GOOD},
    {"Chunked", GOOD},
    {"CHUNKED", GOOD},
    {"  chunked", GOOD},
    {"chunked ", GOOD},
    {"\tchunked", GOOD},
    {"chunked\t", BAD}, /* stricter than RFC 9110, 5.5 */
    {"", BAD},
    {" ", BAD},
    {"\t", BAD},
    {"gzip, chunked", UNKNOWN},
    {"gzip,chunked", UNKNOWN},
    {"identity, chunked", UNKNOWN},
    {"chunked, chunked", BAD},
    {",chunked", UNKNOWN},
    {", chunked", UNKNOWN},
    {"chunked,", BAD},
    {"chunked, gzip", BAD},
    {"gzip", BAD},
    {"identity", BAD},
    {"xchunked", BAD},
    {"chunkedx", BAD},
    {"chunke", BAD},
    {"chunked;q=1", BAD},
    {"\"chunked\"", BAD},
    {"gzip chunked", BAD},
    {"chunked chunked", BAD},
    {"\x0b"
     "chunked",
     BAD},
    {"chunked\x0c", BAD},
    {"chunked\xa0", BAD},
};

static const char *const names[] = {"Transfer-Encoding", "transfer-encoding", "TRANSFER-ENCODING"};

typedef enum length {
    NONE,
    BEFORE,
    AFTER,
    LENGTHS,
} length;

typedef struct row {
    size_t first, second; /* codings */
    length where;
    size_t name;
    unsigned minor;
} row;

static verdict model(const row *r)
{
    bool first = codings[r->first].value, second = codings[r->second].value;
    if (!first && !second)
        return GOOD;
    if ((first && second) || r->where != NONE || r->minor == 0)
        return BAD;
    return codings[first ? r->first : r->second].verdict;
}

static void put_coding(char *to, size_t room, const row *r, size_t which)
{
    size_t at = strlen(to);
    if (codings[which].value)
        snprintf(to + at, room - at, "%s: %s\r\n", names[r->name], codings[which].value);
}

static void try(rig *http, const row *r)
{
    char text[2000], line[40];
    verdict expected = model(r);
    bool coded = codings[r->first].value || codings[r->second].value;
    snprintf(line, sizeof(line), "Content-Length: %zu\r\n", strlen(LIST));
    snprintf(text, sizeof(text),
             "POST /mcp HTTP/1.%u\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
             "Mcp-Method: tools/list\r\n%s",
             r->minor, r->where == BEFORE ? line : "");
    put_coding(text, sizeof(text), r, r->first);
    put_coding(text, sizeof(text), r, r->second);
    size_t at = strlen(text);
    snprintf(text + at, sizeof(text) - at,
             coded ? "%s\r\n%zx\r\n%s\r\n0\r\n\r\n" NEXT : "%s\r\n%.0zu%s" NEXT,
             r->where == AFTER ? line : "", coded ? strlen(LIST) : (size_t)0, LIST);
    wire w;
    wire_open(&w, http);
    wire_bytes(&w, text, strlen(text));
    const char *answer = wire_text(&w);
    bool next = strstr(answer, "\nok") != NULL;
    if (expected == GOOD && r->minor == 1) {
        if (!rig_matches(answer, "HTTP/1.1 200 ~\"tools\"~HTTP/1.1 200 ~") || w.closed)
            fail_msg("refused:\n%s\n%s", text, answer);
    } else if (expected == GOOD) {
        if (!rig_matches(answer, "HTTP/1.1 200 ~\"tools\"~") || next || !w.closed)
            fail_msg("not as HTTP/1.0:\n%s\n%s", text, answer);
    } else if (!rig_matches(answer, expected == BAD ? "HTTP/1.1 400 ~" : "HTTP/1.1 501 ~") ||
               next || !w.closed) {
        fail_msg("not refused with %s:\n%s\n%s", expected == BAD ? "400" : "501", text, answer);
    }
    wire_end(&w);
}

static void test_all(void **state)
{
    (void)state;
    rig http;
    rig_begin(&http, NULL);
    for (row r = {0}; r.first < COUNT(codings); r.first++)
        for (r.second = 0; r.second < COUNT(codings); r.second++)
            for (r.where = NONE; r.where < LENGTHS; r.where++)
                for (r.minor = 0; r.minor < 2; r.minor++)
                    for (r.name = 0; r.name < COUNT(names); r.name++)
                        if (codings[r.first].value || codings[r.second].value || r.where != NONE)
                            try(&http, &r);
    rig_end(&http);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
