/* fuzz_session_id.c: arbitrary bytes, as what is in a session id, as an id, as the header of a forwarded
 * request, and as a message on the bus, at an endpoint that is one of several instances.
 *
 * The first byte selects. Contents are sealed with the right key, so that the code behind the seal is
 * reached; a member of the fleet cannot crash the others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/http.h>
#include <mcp/input.h>
#include <mcp/sys/http.h>
#include <mcp/sys/server.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int random_bytes(void *bytes, size_t len, void *user)
{
    (void)user;
    memset(bytes, 'r', len);
    return MCP_OK;
}

static void on_write(mcp_http_connection *c, mcp_str bytes, void *user)
{
    (void)c;
    *(size_t *)user += bytes.len;
}

static void on_close(mcp_http_connection *c, mcp_http_close how, void *user)
{
    (void)c, (void)how, (void)user;
}

static int on_send(mcp_http_relay *relay, const mcp_http_relay_request *request, void **handle,
                   void *user)
{
    (void)relay, (void)request, (void)handle, (void)user;
    return MCP_ECLOSED;
}

static void on_cancel(void *handle, void *user)
{
    (void)handle, (void)user;
}

static bool sharing(void *user)
{
    (void)user;
    return true;
}

/* Sends one request, whose headers include `line`. It must be answered. */
static void send_line(mcp_http *http, const char *name, mcp_str value)
{
    static const char body[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    mcp_http_connection *c = NULL;
    size_t written = 0;
    char head[9000];
    if (mcp_http_accept(http,
                        MCP_OPTIONS(mcp_http_connection_options, .write = on_write,
                                    .close = on_close, .user = &written),
                        1, &c, NULL) != MCP_OK)
        abort();
    int n = snprintf(head, sizeof(head),
                     "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     "%s: %.*s\r\nContent-Length: %zu\r\n\r\n%s",
                     name, (int)value.len, value.ptr, sizeof(body) - 1, body);
    mcp_http_receive(c, (mcp_str){head, (size_t)n}, 1);
    if (!written)
        abort();
    mcp_http_connection_free(c, 1);
}

static void send_sealed(mcp_server *server, mcp_http *http, mcp_str purpose, const char *name,
                        mcp_str plain)
{
    char sealed[6000];
    size_t len = 0;
    if (mcp_server_seal(server, purpose, plain, 60000, sealed, sizeof(sealed), &len) == MCP_OK)
        send_line(http, name, (mcp_str){sealed, len});
}

static size_t visible(const uint8_t *data, size_t size, char *to, size_t room)
{
    size_t n = 0;
    for (size_t i = 0; i < size && n < room; i++) {
        if (data[i] > ' ' && data[i] <= '~')
            to[n++] = (char)data[i];
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char key[] = "0123456789abcdef0123456789abcdef";
    mcp_server *server = NULL;
    mcp_http *http = NULL;
    char text[4000];
    if (!size || size > 4000)
        return 0;
    if (mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "f", .version = "1"), &server,
                       NULL) != MCP_OK ||
        mcp_server_set_seal(server, MCP_OPTIONS(mcp_seal_options, .key = key, .key_len = 32),
                            NULL) != MCP_OK ||
        mcp_http_new(server,
                     MCP_OPTIONS(mcp_http_options, .random = random_bytes,
                                 .instance_address = "unix:/x", .sharing = sharing),
                     &http, NULL) != MCP_OK)
        abort();
    mcp_http_set_relays(http, MCP_OPTIONS(mcp_http_relays, .send = on_send, .cancel = on_cancel));
    mcp_str rest = {(const char *)data + 1, size - 1};
    switch (data[0] % 5) {
    case 0: send_sealed(server, http, MCP_STR("session a"), "Mcp-Session-Id", rest); break;
    case 1:
        send_sealed(server, http, MCP_STR("forwarded request"), "Libmcp-Forwarded-Request", rest);
        break;
    case 2:
        send_line(http, "Mcp-Session-Id",
                  (mcp_str){text, visible(data + 1, size - 1, text, sizeof(text))});
        break;
    case 3:
        send_line(http, "Libmcp-Forwarded-Request",
                  (mcp_str){text, visible(data + 1, size - 1, text, sizeof(text))});
        break;
    default: mcp_http_shared(http, rest, 1); break;
    }
    mcp_http_free(http);
    mcp_server_free(server);
    return 0;
}
