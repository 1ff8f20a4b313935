/* streams: the memory of open subscriptions in an HTTP endpoint without sockets.
 *
 *   streams [COUNT]
 *
 * Opens COUNT (100,000) subscriptions/listen of 2026-07-28 to one resource, each on a connection of its own, whose
 * bytes go nowhere. Prints what each costs in bytes of private memory, and how long it takes until a change was
 * announced on all of them. The sockets of a program and their structures are not included: http_driver --listen
 * measures a whole server.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include <mcp/http.h>
#include <mcp/mcp.h>
#include <mcp/sys/http.h>

#include "clock.h"

enum { COUNT = 100000, COALESCE_MS = 10, ADDRESSES = 200 };

static int64_t now = 1000;
static size_t acknowledged, updated, closed;

static int fill(void *bytes, size_t len, void *user)
{
    (void)user;
    memset(bytes, 0x5a, len);
    return MCP_OK;
}

static void on_write(mcp_http_connection *c, mcp_str bytes, void *user)
{
    (void)c, (void)user;
    char text[2048];
    snprintf(text, sizeof(text), "%.*s", (int)bytes.len, bytes.ptr);
    acknowledged += strstr(text, "/acknowledged") != NULL;
    updated += strstr(text, "/updated") != NULL;
}

static void on_close(mcp_http_connection *c, mcp_http_close how, void *user)
{
    (void)c, (void)how, (void)user;
    closed++;
}

static size_t private_kib(void)
{
    char line[256];
    size_t kib = 0, value;
    FILE *f = fopen("/proc/self/smaps_rollup", "re");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "Private_%*[^:]: %zu", &value) == 1)
            kib += value;
    if (f)
        fclose(f);
    return kib;
}

static size_t make_request(char *to, size_t room)
{
    static const char body[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{"
        "\"notifications\":{\"resourceSubscriptions\":[\"mem://one\"]},\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"bench\",\"version\":\"1\"},"
        "\"io.modelcontextprotocol/clientCapabilities\":{}}}}";
    int n = snprintf(to, room,
                     "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:8642\r\n"
                     "Content-Type: application/json\r\n"
                     "Accept: application/json, text/event-stream\r\n"
                     "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     sizeof(body) - 1, body);
    return (size_t)n;
}

static void open_all(mcp_http *http, mcp_http_connection **connections, size_t count)
{
    char request[2048], address[32], peer[48];
    size_t len = make_request(request, sizeof(request));
    for (size_t i = 0; i < count; i++) {
        snprintf(address, sizeof(address), "192.0.2.%zu", i % ADDRESSES);
        snprintf(peer, sizeof(peer), "%s:%zu", address, 1024 + i % 60000);
        if (mcp_http_accept(http,
                            MCP_OPTIONS(mcp_http_connection_options, .write = on_write,
                                        .close = on_close, .peer = peer, .address = address),
                            now, &connections[i], NULL) == MCP_OK)
            mcp_http_receive(connections[i], (mcp_str){request, len}, now);
    }
}

static void announce(mcp_server *server, mcp_http *http)
{
    mcp_server_resource_updated(server, "mem://one");
    for (int i = 0; i < 10; i++)
        mcp_http_tick(http, now += COALESCE_MS);
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : COUNT;
    const mcp_resource one = {
        .size = sizeof(mcp_resource), .uri = "mem://one", .name = "one", .text = "x"};
    mcp_error error = {0};
    mcp_server *server = NULL;
    mcp_http *http = NULL;
    mcp_http_connection **connections = calloc(count, sizeof(mcp_http_connection *));
    if (!connections)
        return 1;
    int rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "streams", .version = "1.0.0",
                                        .coalesce_ms = COALESCE_MS, .no_rate_limits = true),
                            &server, &error);
    if (rc == MCP_OK)
        rc = mcp_server_add_resource(server, &one, NULL, &error);
    if (rc == MCP_OK)
        rc = mcp_http_new(server,
                          MCP_OPTIONS(mcp_http_options, .random = fill, .max_connections = count,
                                      .max_per_address = count),
                          &http, &error);
    if (rc != MCP_OK) {
        fprintf(stderr, "streams: %s\n", error.text);
        return 1;
    }
    memset(connections, 1, count * sizeof(*connections)); /* so that its pages are counted before */
    size_t before = private_kib();
    double start = now_us();
    open_all(http, connections, count);
    double opened = now_us() - start;
    size_t after = private_kib();
    start = now_us();
    announce(server, http);
    double told = now_us() - start;
    printf("streams=%zu acknowledged=%zu updated=%zu closed=%zu stream_bytes=%.0f open_ms=%.0f "
           "update_ms=%.0f\n",
           count, acknowledged, updated, closed, (double)(after - before) * 1024 / (double)count,
           opened / 1e3, told / 1e3);
    for (size_t i = 0; i < count; i++)
        mcp_http_connection_free(connections[i], now);
    mcp_http_free(http);
    mcp_server_free(server);
    free(connections);
    return acknowledged == count && updated == count && closed == 0 ? 0 : 1;
}
