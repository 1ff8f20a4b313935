/* Raw HTTP requests without a session and their raw responses. Each row is sent as a whole, split
 * at every byte, with every allocation failing, and truncated at every byte. */
#include "rig.h"

#define JSON_HEAD "HTTP/1.1 200 OK\nContent-Type: application/json\nContent-Length: ~\n\n"
#define SSE_HEAD                                                     \
    "HTTP/1.1 200 OK\nContent-Type: text/event-stream\n"             \
    "Cache-Control: no-cache, no-transform\nX-Accel-Buffering: no\n" \
    "Transfer-Encoding: chunked\n\n"
#define REFUSED(status)                                          \
    "HTTP/1.1 " status "\nContent-Type: application/json\n~\n\n" \
    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"~\"}}"
/* A rejection with the id of the request. */
#define REFUSED_ONE(status)                                      \
    "HTTP/1.1 " status "\nContent-Type: application/json\n~\n\n" \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"~\"}}"
#define CLOSING(status)                                                             \
    "HTTP/1.1 " status "\nConnection: close\nContent-Type: application/json\n~\n\n" \
    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"~\"}}"

/* A header that does not match the message; the answer has the id of the message. */
#define MISMATCH(why)                                                                      \
    "HTTP/1.1 400 Bad Request\nContent-Type: application/json\n~\n\n{\"jsonrpc\":\"2.0\"," \
    "\"id\":1,\"error\":{\"code\":-32020,\"message\":\"Header mismatch: " why "\"}}"
/* A request that cannot be parsed; the connection is closed after it. */
#define UNREADABLE                                                                       \
    "HTTP/1.1 400 Bad Request\nConnection: close\nContent-Type: application/json\n~\n\n" \
    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32020,\"message\":\"Header mismatch: ~\"}}"

#define POST(headers, body) "POST /mcp HTTP/1.1\n" headers "Content-Length: {{len}}\n\n" body
#define CALL(method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{ " params "} }"

/* The server closes the connection if the response has "Connection: close". */
static const struct row {
    const char *name;
    const char *in[3];
    const char *out;
} rows[] = {
    /* the modern era */
    {"a tool",
     {POST("{{modern tools/call}}Mcp-Name: echo\n",
           CALL("tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"},{{meta}}"))},
     JSON_HEAD "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{~hi~\"resultType\":\"complete\"~}}"},
    {"a resource with a name in Base64",
     {POST("{{modern resources/read}}Mcp-Name: =?base64?Zml4ZWQ6L3RleHQ=?=\n",
           CALL("resources/read", "\"uri\":\"fixed:/text\",{{meta}}"))},
     JSON_HEAD "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"contents\":~}"},
    {"names of headers have no case, their values no padding",
     {POST("HOST: LOCALHOST\nCONTENT-TYPE: Application/JSON; charset=utf-8\naccept: */*\n"
           "mcp-protocol-VERSION:2026-07-28\nMCP-METHOD:  tools/call \t\nmcp-name:   echo  \n",
           CALL("tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"},{{meta}}"))},
     JSON_HEAD "~hi~"},
    {"a chunked body",
     {"POST /mcp HTTP/1.1\n{{modern tools/list}}Transfer-Encoding: chunked\n\n"
      "10\r\n{\"jsonrpc\":\"2.0\"\r\n1\r\n,\r\n2d;ext=\"x\"\r\n"
      "\"id\":\"a\",\"method\":\"tools/list\",\"params\":{\"_me\r\n"
      "b1\r\nta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
      "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\",\"version\":\"1\"},"
      "\"io.modelcontextprotocol/clientCapabilities\":{} } } }\r\n"
      "0\r\nTrailer: x\r\n\r\n"},
     JSON_HEAD "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{\"tools\":~"},
    {"notices first",
     {POST("{{modern tools/call}}Mcp-Name: progress\n",
           "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
           "\"name\":\"progress\",\"_meta\":{\"progressToken\":1,"
           "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
           "\"io.modelcontextprotocol/clientCapabilities\":{} } } }")},
     SSE_HEAD "~\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"~\n\n\n"
              "~\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":~\n\n\n0\n\n"},
    {"notices first, to a client that takes none",
     {POST("Host: [::1]\nContent-Type: application/json\nAccept: application/json\n"
           "MCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: progress\n",
           "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
           "\"name\":\"progress\",\"_meta\":{\"progressToken\":1,"
           "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
           "\"io.modelcontextprotocol/clientCapabilities\":{} } } }")},
     JSON_HEAD "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":~"},
    {"a subscription",
     {POST("{{modern subscriptions/listen}}",
           CALL("subscriptions/listen", "\"notifications\":{\"toolsListChanged\":true},{{meta}}"))},
     SSE_HEAD "~\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/"
              "acknowledged\",\"params\":{~}}\n\n\n"},
    {"a subscription without streams",
     {POST("Host: localhost\nContent-Type: application/json\nAccept: application/json\n"
           "MCP-Protocol-Version: 2026-07-28\nMcp-Method: subscriptions/listen\n",
           CALL("subscriptions/listen", "\"notifications\":{},{{meta}}"))},
     REFUSED_ONE("406 Not Acceptable")},
    {"a notification",
     {POST("{{modern notifications/x}}", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\","
                                         "\"params\":{ {{meta}} } }")},
     "HTTP/1.1 202 Accepted\nContent-Length: 0\n\n"},
    {"a response",
     {POST("{{modern x}}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{} }")},
     REFUSED("400 Bad Request")},
    {"an unknown method",
     {POST("{{modern unknown/method}}", CALL("unknown/method", "{{meta}}"))},
     "HTTP/1.1 404 Not Found\n~\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,~"},
    {"a removed method",
     {POST("{{modern initialize}}", CALL("initialize", "{{meta}}"))},
     "HTTP/1.1 404 Not Found\n~\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,~"},
    {"an unknown tool",
     {POST("{{modern tools/call}}Mcp-Name: none\n",
           CALL("tools/call", "\"name\":\"none\",{{meta}}"))},
     JSON_HEAD "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,~"},
    {"no _meta",
     {POST("{{modern server/discover}}", CALL("server/discover", ""))},
     "HTTP/1.1 400 Bad Request\n~\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,~"},
    {"no capabilities in _meta",
     {POST("{{modern tools/list}}", CALL("tools/list", "\"_meta\":{\"io.modelcontextprotocol/"
                                                       "protocolVersion\":\"2026-07-28\"}"))},
     "HTTP/1.1 400 Bad Request\n~\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,~"},
    {"an unserved version",
     {POST("{{std}}MCP-Protocol-Version: v999\nMcp-Method: tools/list\n",
           CALL("tools/list", "\"_meta\":{\"io.modelcontextprotocol/"
                              "protocolVersion\":\"v999\"}"))},
     "HTTP/1.1 400 Bad Request\n~\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,~"
     "\"supported\":[\"2026-07-28\"],\"requested\":\"v999\"~"},
    {"another version in the header",
     {POST("{{modern tools/list}}", CALL("tools/list", "\"_meta\":{\"io.modelcontextprotocol/"
                                                       "protocolVersion\":\"v999\"}"))},
     "HTTP/1.1 400 Bad Request\n~\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32020,~"},
    {"no version in the header",
     {POST("{{std}}Mcp-Method: tools/list\n", CALL("tools/list", "{{meta}}"))},
     "HTTP/1.1 400 Bad Request\n~\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32020,~"},
    {"another method in the header",
     {POST("{{modern TOOLS/LIST}}", CALL("tools/list", "{{meta}}"))},
     "HTTP/1.1 400 Bad Request\n~\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32020,~"},
    {"a session id beside modern _meta is ignored",
     {POST("{{modern tools/list}}Mcp-Session-Id: none\n", CALL("tools/list", "{{meta}}"))},
     JSON_HEAD "~"},
    {"a batch",
     {POST("{{modern tools/list}}", "[" CALL("tools/list", "{{meta}}") "]")},
     "HTTP/1.1 400 Bad Request\n~\n\n{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,~"},
    {"no JSON",
     {POST("{{std}}", "{\"jsonrpc\":")},
     "HTTP/1.1 400 Bad Request\n~\n\n{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,~"},
    {"no body",
     {POST("{{std}}", "")},
     "HTTP/1.1 400 Bad Request\n~\n\n{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,~"},
    {"no message",
     {POST("{{modern x}}", "{\"jsonrpc\":\"2.0\"}")},
     "HTTP/1.1 400 Bad Request\n~\n\n{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,~"},
    {"HTTP/1.0",
     {"POST /mcp HTTP/1.0\n{{modern tools/list}}Connection: keep-alive\n"
      "Content-Length: {{len}}\n\n" CALL("tools/list", "{{meta}}")},
     "HTTP/1.1 200 OK\nConnection: close\n~"},
    {"HTTP/1.0, notices first",
     {"POST /mcp HTTP/1.0\n{{modern tools/call}}Mcp-Name: progress\n"
      "Content-Length: {{len}}\n\n"
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
      "\"name\":\"progress\",\"_meta\":{\"progressToken\":1,"
      "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
      "\"io.modelcontextprotocol/clientCapabilities\":{} } } }"},
     "HTTP/1.1 200 OK\nConnection: close\n~no\n\ndata: {~}\n\ndata: {~}}\n\n"},
    {"Connection: close",
     {POST("{{modern tools/list}}Connection: close\n", CALL("tools/list", "{{meta}}"))},
     "HTTP/1.1 200 OK\nConnection: close\n~"},
    {"Expect: 100-continue",
     {POST("{{modern tools/list}}Expect: 100-continue\n", CALL("tools/list", "{{meta}}"))},
     "HTTP/1.1 100 Continue\n\n" JSON_HEAD "~"},
    {"Expect: something else",
     {POST("{{modern tools/list}}Expect: miracles\n", "{}")},
     CLOSING("417 Expectation Failed")},
    {"Upgrade: h2c is not followed",
     {POST("{{modern tools/list}}Connection: Upgrade, HTTP2-Settings\nUpgrade: h2c\n"
           "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\n",
           CALL("tools/list", "{{meta}}")),
      "GET /healthz HTTP/1.1\nHost: localhost\n\n"},
     JSON_HEAD "{~}}HTTP/1.1 200 OK\nContent-Type: text/plain; charset=utf-8\n"
               "Content-Length: 3\n\nok\n"},

    /* pipelined */
    {"three at once",
     {POST("{{modern tools/list}}", "{\"jsonrpc\":\"2.0\",\"id\":\"first\",\"method\":"
                                    "\"tools/list\",\"params\":{ {{meta}} } }"),
      "GET /healthz HTTP/1.1\nHost: localhost\n\n",
      POST("{{modern tools/list}}", "{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":"
                                    "\"tools/list\",\"params\":{ {{meta}} } }")},
     JSON_HEAD "{\"jsonrpc\":\"2.0\",\"id\":\"first\"~}HTTP/1.1 200 OK\n~\n\nok\n" JSON_HEAD
               "{\"jsonrpc\":\"2.0\",\"id\":\"last\"~"},
    {"one after a refused one",
     {POST("Host: localhost\nContent-Type: text/plain\n", "{\"jsonrpc\":\"2.0\"}"),
      "GET /healthz HTTP/1.1\nHost: localhost\n\n"},
     REFUSED("415 Unsupported Media Type") "HTTP/1.1 200 OK\n~\n\nok\n"},

    /* the legacy era without a session */
    {"a legacy list",
     {POST("{{std}}MCP-Protocol-Version: 2025-06-18\n", CALL("tools/list", ""))},
     JSON_HEAD "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":~"},
    {"legacy, without a header",
     {POST("{{std}}", CALL("ping", ""))},
     JSON_HEAD "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"},
    {"legacy errors are 200",
     {POST("{{std}}", CALL("unknown/method", ""))},
     JSON_HEAD "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,~"},
    {"a legacy notification",
     {POST("{{std}}", "{\"jsonrpc\":\"2.0\",\"method\":"
                      "\"notifications/initialized\"}")},
     "HTTP/1.1 202 Accepted\nContent-Length: 0\n\n"},
    {"legacy, and needs a session",
     {POST("{{std}}", CALL("resources/subscribe", "\"uri\":\"fixed:/text\""))},
     REFUSED_ONE("400 Bad Request")},
    {"a batch of 2025-03-26",
     {POST("{{std}}",
           "[" CALL("ping", "") ",{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"},"
                                "{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"ping\"}]")},
     JSON_HEAD "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},"
               "{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"result\":{}}]"},
    {"a batch of notifications",
     {POST("{{std}}", "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]")},
     "HTTP/1.1 202 Accepted\nContent-Length: 0\n\n"},
    {"a batch in a later revision",
     {POST("{{std}}MCP-Protocol-Version: 2025-06-18\n", "[" CALL("ping", "") "]")},
     "HTTP/1.1 400 Bad Request\n~\n\n{\"jsonrpc\":\"2.0\",~\"error\":{\"code\":-32600,~"},
    {"a version that never was",
     {POST("{{std}}MCP-Protocol-Version: 2024-01-01\n", CALL("ping", ""))},
     REFUSED_ONE("400 Bad Request")},
    {"an unknown session",
     {POST("{{std}}Mcp-Session-Id: none\n", CALL("ping", ""))},
     REFUSED_ONE("404 Not Found")},

    /* other methods and paths */
    {"GET",
     {"GET /mcp HTTP/1.1\nHost: localhost\n\n"},
     "HTTP/1.1 405 Method Not Allowed\n~\nAllow: POST\n~"},
    {"DELETE of a modern client",
     {"DELETE /mcp HTTP/1.1\nHost: localhost\n"
      "MCP-Protocol-Version: 2026-07-28\nMcp-Session-Id: x\n\n"},
     "HTTP/1.1 405 Method Not Allowed\n~\nAllow: POST\n~"},
    {"PUT",
     {"PUT /mcp HTTP/1.1\nHost: localhost\nContent-Length: {{len}}\n\nxx"},
     "HTTP/1.1 405 Method Not Allowed\n~\nAllow: POST, GET, DELETE\n~"},
    {"HEAD",
     {"HEAD /mcp HTTP/1.1\nHost: localhost\n\n", "HEAD /healthz HTTP/1.1\nHost: localhost\n\n"},
     "HTTP/1.1 405 Method Not Allowed\n~\n\nHTTP/1.1 200 OK\n~\nContent-Length: 3\n\n"},
    {"OPTIONS",
     {"OPTIONS /mcp HTTP/1.1\nHost: localhost\nOrigin: http://localhost:3000\n\n"},
     "HTTP/1.1 405 Method Not Allowed\n~"},
    {"CONNECT", {"CONNECT localhost:80 HTTP/1.1\nHost: localhost\n\n"}, REFUSED("404 Not Found")},
    {"another path", {"GET /other HTTP/1.1\nHost: localhost\n\n"}, REFUSED("404 Not Found")},
    {"a query", {"GET /healthz?verbose HTTP/1.1\nHost: localhost\n\n"}, "HTTP/1.1 200 OK\n~ok\n"},
    {"an absolute target",
     {"GET http://localhost/healthz HTTP/1.1\nHost: evil.example\n\n"},
     "HTTP/1.1 200 OK\n~ok\n"},
    {"an absolute target elsewhere",
     {"GET http://evil.example/metrics HTTP/1.1\nHost: localhost\n\n"},
     REFUSED("403 Forbidden")},
    {"POST to health",
     {"POST /healthz HTTP/1.1\nHost: localhost\nContent-Length: 0\n\n"},
     "HTTP/1.1 405 Method Not Allowed\n~\nAllow: GET\n~"},
    {"metrics",
     {"GET /metrics HTTP/1.1\nHost: localhost\n\n"},
     "HTTP/1.1 200 OK\nContent-Type: text/plain; version=0.0.4; charset=utf-8\n~mcp_connections "
     "1\n~"},

    /* hosts and origins */
    {"no Host", {"GET /healthz HTTP/1.1\n\n"}, REFUSED("400 Bad Request")},
    {"two Hosts",
     {"GET /healthz HTTP/1.1\nHost: localhost\nHost: localhost\n\n"},
     REFUSED("400 Bad Request")},
    {"another Host",
     {"GET /metrics HTTP/1.1\nHost: evil.example:8642\n\n"},
     REFUSED("403 Forbidden")},
    {"another Host with a message",
     {"POST /mcp HTTP/1.1\nHost: evil.example\nContent-Type: application/json\n"
      "Content-Length: {{len}}\n\n" CALL("ping", "")},
     REFUSED("403 Forbidden")},
    {"no Host in HTTP/1.0", {"GET /metrics HTTP/1.0\n\n"}, CLOSING("403 Forbidden")},
    {"health without a Host",
     {"GET /healthz HTTP/1.0\n\n"},
     "HTTP/1.1 200 OK\nConnection: close\n~\n\nok\n"},
    {"health of any Host and Origin",
     {"GET /healthz HTTP/1.1\nHost: 10.1.2.3:8642\nOrigin: http://evil.example\n\n"},
     "HTTP/1.1 200 OK\nContent-Type: text/plain; charset=utf-8\nContent-Length: 3\n\nok\n"},
    {"readiness of any Host and Origin, which no page can read",
     {"GET /readyz HTTP/1.1\nHost: 10.1.2.3:8642\nOrigin: http://evil.example\n\n"},
     "HTTP/1.1 200 OK\nContent-Type: text/plain; charset=utf-8\nContent-Length: 6\n\nready\n"},
    {"POST to readiness",
     {"POST /readyz HTTP/1.1\nHost: localhost\nContent-Length: 0\n\n"},
     "HTTP/1.1 405 Method Not Allowed\n~\nAllow: GET\n~"},
    {"a path that only begins with health",
     {"GET /healthz/../metrics HTTP/1.0\n\n"},
     CLOSING("403 Forbidden")},
    {"another Origin",
     {POST("{{std}}Origin: http://evil.example\n", CALL("ping", ""))},
     REFUSED("403 Forbidden")},
    {"an Origin of ours",
     {POST("{{std}}Origin: http://127.0.0.1:8642\n", CALL("ping", ""))},
     JSON_HEAD "~"},

    /* media types */
    {"text",
     {POST("Host: localhost\nContent-Type: text/plain\n", CALL("ping", ""))},
     REFUSED_ONE("415 Unsupported Media Type")},
    {"no type",
     {POST("Host: localhost\n", CALL("ping", ""))},
     REFUSED_ONE("415 Unsupported Media Type")},
    {"compressed",
     {POST("{{std}}Content-Encoding: gzip\n", "x")},
     REFUSED("415 Unsupported Media Type")},
    {"streams only",
     {POST("Host: localhost\nContent-Type: application/json\n"
           "Accept: text/event-stream\n",
           CALL("ping", ""))},
     REFUSED_ONE("406 Not Acceptable")},
    {"two Mcp-Methods",
     {POST("{{modern tools/list}}Mcp-Method: tools/list\n", CALL("tools/list", "{{meta}}"))},
     MISMATCH("Mcp-Method occurs more than once")},
    {"two Mcp-Names",
     {POST("{{modern tools/call}}Mcp-Name: echo\nMcp-Name: echo\n",
           CALL("tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"},{{meta}}"))},
     MISMATCH("Mcp-Name occurs more than once")},
    {"two versions",
     {POST("{{modern tools/list}}MCP-Protocol-Version: 2026-07-28\n",
           CALL("tools/list", "{{meta}}"))},
     MISMATCH("MCP-Protocol-Version occurs more than once")},
    {"two versions, the last a legacy one",
     {POST("{{modern tools/list}}MCP-Protocol-Version: 2025-11-25\n",
           CALL("tools/list", "{{meta}}"))},
     MISMATCH("MCP-Protocol-Version occurs more than once")},
    {"two Mcp-Params that no tool has",
     {POST("{{modern tools/list}}Mcp-Param-A: 1\nMcp-Param-B: 2\nmcp-param-a: 1\n",
           CALL("tools/list", "{{meta}}"))},
     JSON_HEAD "~"},
    {"two Mcp-Methods of a legacy client",
     {POST("{{std}}Mcp-Method: ping\nMcp-Method: ping\n", CALL("ping", ""))},
     REFUSED_ONE("400 Bad Request")},
    {"two versions of a legacy client",
     {POST("{{std}}MCP-Protocol-Version: 2025-06-18\nMCP-Protocol-Version: 2025-06-18\n",
           CALL("ping", ""))},
     REFUSED_ONE("400 Bad Request")},
    {"two versions for GET",
     {"GET /mcp HTTP/1.1\nHost: localhost\nMCP-Protocol-Version: 2025-06-18\n"
      "MCP-Protocol-Version: 2025-06-18\n\n"},
     REFUSED("400 Bad Request")},
    {"bytes beyond ASCII in Mcp-Name",
     {POST("{{modern tools/call}}Mcp-Name: \xc3\xa9\n",
           CALL("tools/call", "\"name\":\"\xc3\xa9\",{{meta}}"))},
     MISMATCH("Mcp-Name has invalid characters")},
    {"a control character in Mcp-Name",
     {POST("{{modern tools/call}}Mcp-Name: ec\x01ho\n",
           CALL("tools/call", "\"name\":\"echo\",{{meta}}"))},
     UNREADABLE},
    {"DEL in Mcp-Method",
     {POST("{{std}}mcp-method: \x7f\n", CALL("tools/list", "{{meta}}"))},
     UNREADABLE},
    {"a control character in the version",
     {POST("{{std}}MCP-Protocol-Version: 2026-07-28\x02\n", CALL("tools/list", "{{meta}}"))},
     UNREADABLE},
    {"a control character in a parameter",
     {POST("{{modern tools/call}}Mcp-Param-A: \x01\n", CALL("tools/call", "{{meta}}"))},
     UNREADABLE},
    {"a control character in a name behind Mcp-Name",
     {POST("{{modern tools/call}}Mcp-Name: echo\nX\x01: y\n", CALL("tools/call", "{{meta}}"))},
     CLOSING("400 Bad Request")},
    {"a control character in a value behind Mcp-Name",
     {POST("{{modern tools/call}}Mcp-Name: echo\nX: \x01\n", CALL("tools/call", "{{meta}}"))},
     CLOSING("400 Bad Request")},
    {"two Accepts",
     {POST("Host: localhost\nContent-Type: application/json\n"
           "Accept: application/json\nAccept: text/event-stream\n",
           CALL("ping", ""))},
     JSON_HEAD "~"},

    /* not HTTP */
    {"two lengths",
     {"POST /mcp HTTP/1.1\n{{std}}Content-Length: 2\nContent-Length: 3\n\n{}x"},
     CLOSING("400 Bad Request")},
    {"length and chunks",
     {"POST /mcp HTTP/1.1\n{{std}}Content-Length: 2\n"
      "Transfer-Encoding: chunked\n\n0\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n"},
     CLOSING("400 Bad Request")},
    {"chunks and length",
     {"POST /mcp HTTP/1.1\n{{std}}Transfer-Encoding: chunked\n"
      "Content-Length: 2\n\n0\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n"},
     CLOSING("400 Bad Request")},
    {"chunked is not the last",
     {"POST /mcp HTTP/1.1\n{{std}}Transfer-Encoding: chunked, gzip\n\n"},
     CLOSING("400 Bad Request")},
    {"a coding that is none",
     {"POST /mcp HTTP/1.1\n{{std}}Transfer-Encoding: identity\n\n{}"},
     CLOSING("400 Bad Request")},
    {"a bare CR",
     {"GET /healthz HTTP/1.1\nHost: localhost\nX: \r\r\n\n"},
     CLOSING("400 Bad Request")},
    {"a control character",
     {"GET /healthz HTTP/1.1\nHost: localhost\nX: \x01\n\n"},
     CLOSING("400 Bad Request")},
    {"a tab in the target",
     {"GET /heal\tthz HTTP/1.1\nHost: localhost\n\n"},
     CLOSING("400 Bad Request")},
    {"Expect in HTTP/1.0",
     {"POST /mcp HTTP/1.0\n{{modern tools/list}}Expect: miracles\n"
      "Content-Length: {{len}}\n\n" CALL("tools/list", "{{meta}}")},
     "HTTP/1.1 200 OK\nConnection: close\n~"},
    {"chunks in HTTP/1.0",
     {"POST /mcp HTTP/1.0\n{{modern tools/list}}Transfer-Encoding: chunked\n\n"
      "0\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n"},
     CLOSING("400 Bad Request")},
    {"chunks and length in HTTP/1.0",
     {"POST /mcp HTTP/1.0\n{{modern tools/list}}Content-Length: 30\n"
      "Transfer-Encoding: chunked\nConnection: keep-alive\n\n0\r\n\r\nGET /healthz "
      "HTTP/1.1\r\n\r\n"},
     CLOSING("400 Bad Request")},
    {"a bad chunk",
     {"POST /mcp HTTP/1.1\n{{std}}Transfer-Encoding: chunked\n\nxx\r\n"},
     CLOSING("400 Bad Request")},
    {"a negative length",
     {"POST /mcp HTTP/1.1\n{{std}}Content-Length: -1\n\n"},
     CLOSING("400 Bad Request")},
    {"a length without bounds",
     {"POST /mcp HTTP/1.1\n{{std}}Content-Length: 99999999999999999999999\n\n"},
     CLOSING("400 Bad Request")},
    {"HTTP/2", {"PRI * HTTP/2.0\n\nSM\n\n"}, CLOSING("505 HTTP Version Not Supported")},
    {"HTTP/3",
     {"GET /healthz HTTP/3.0\nHost: localhost\n\n"},
     CLOSING("505 HTTP Version Not Supported")},
    {"nonsense", {"\x16\x03\x01\x02"}, CLOSING("400 Bad Request")},
    {"a folded header",
     {"GET /healthz HTTP/1.1\nHost: localhost\nX: a\n b\n\n"},
     CLOSING("400 Bad Request")},
    {"white space before a colon",
     {"GET /healthz HTTP/1.1\nHost : localhost\n\n"},
     CLOSING("400 Bad Request")},
};

static void expand_row(const rig *r, const struct row *row, expansion *e)
{
    for (size_t i = 0; i < COUNT(row->in) && row->in[i]; i++)
        expand_request(r, row->in[i], e);
}

/* Feeds two parts. Like a transport, it sends no bytes after the connection is closed. */
static void feed(wire *w, const expansion *e, size_t cut)
{
    wire_bytes(w, e->ptr, cut);
    wire_bytes(w, e->ptr + cut, e->len - cut);
}

static void check_row(const struct row *row, wire *w, size_t cut)
{
    const char *text = wire_text(w);
    if (!rig_matches(text, row->out))
        fail_msg("%s, split at %zu: expected\n%s\nbut got\n%s", row->name, cut, row->out, text);
    bool closes = strstr(row->out, "Connection: close") != NULL;
    if ((w->closed != 0) != closes)
        fail_msg("%s, split at %zu: %s", row->name, cut, closes ? "not closed" : "closed");
}

static void test_rows(void **state)
{
    (void)state;
    rig r;
    rig_begin(&r, NULL);
    for (size_t i = 0; i < COUNT(rows); i++) {
        expansion e = {0};
        expand_row(&r, &rows[i], &e);
        for (size_t cut = 0; cut < e.len; cut++) {
            wire w;
            wire_open(&w, &r);
            feed(&w, &e, cut);
            check_row(&rows[i], &w, cut);
            wire_end(&w);
        }
        free(e.ptr);
    }
    rig_end(&r);
}

/* Feeds each request byte by byte, all on one connection. */
static void test_bytes(void **state)
{
    (void)state;
    rig r;
    rig_begin(&r, NULL);
    for (size_t i = 0; i < COUNT(rows); i++) {
        expansion e = {0};
        expand_row(&r, &rows[i], &e);
        wire w;
        wire_open(&w, &r);
        for (size_t k = 0; k < e.len; k++)
            wire_bytes(&w, e.ptr + k, 1);
        check_row(&rows[i], &w, 1);
        wire_end(&w);
        free(e.ptr);
    }
    rig_end(&r);
}

/* A connection that is closed or half-closed after any byte causes no leak, and another one is
 * served as before. */
static void test_cut(void **state)
{
    (void)state;
    rig r;
    rig_begin(&r, NULL);
    wire other;
    wire_open(&other, &r);
    for (size_t i = 0; i < COUNT(rows); i++) {
        expansion e = {0};
        expand_row(&r, &rows[i], &e);
        for (size_t cut = 0; cut <= e.len; cut++) {
            wire w;
            wire_open(&w, &r);
            wire_bytes(&w, e.ptr, cut);
            if (cut % 2) {
                mcp_http_receive_end(w.c, r.now);
                assert_int_not_equal(w.closed, 0);
            }
            wire_end(&w);
        }
        wire_clear(&other);
        wire_send(&other, "GET /healthz HTTP/1.1\nHost: localhost\n\n");
        wire_expect(&other, "HTTP/1.1 200 OK\n~ok\n");
        assert_int_equal(mcp_http_connections(r.http), 1);
        free(e.ptr);
    }
    wire_end(&other);
    rig_end(&r);
}

/* Each allocation fails in turn: the result is some answer or a closed connection, and no memory is
 * leaked. */
static void test_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i += 1) {
        rig plain;
        rig_begin(&plain, NULL);
        size_t from = plain.memory.calls;
        rig_end(&plain);
        for (size_t n = from + 1;; n++) {
            rig r;
            int rc = rig_begin_with(&r, NULL, n);
            assert_int_equal(rc, MCP_OK);
            expansion e = {0};
            expand_row(&r, &rows[i], &e);
            wire w;
            if (wire_open_from(&w, &r, NULL) == MCP_OK) {
                wire_bytes(&w, e.ptr, e.len);
                if (w.len == 0 && !w.closed)
                    fail_msg("%s: neither an answer nor an end when allocation %zu fails",
                             rows[i].name, n);
                wire_end(&w);
            }
            free(e.ptr);
            size_t calls = r.memory.calls;
            rig_end(&r);
            if (calls < n)
                break;
        }
    }
}

/* A handler that needs a capability that its client did not declare. */
static void test_undeclared(void **state)
{
    (void)state;
    rig r;
    wire w;
    rig_begin(&r, NULL);
    assert_int_equal(fixture_add_asks(fixture_server(r.fixture), NULL), MCP_OK);
    wire_open(&w, &r);
    wire_send(&w, POST("{{modern tools/call}}Mcp-Name: list_roots\n",
                       CALL("tools/call", "\"name\":\"list_roots\",{{meta}}")));
    wire_expect(&w, "HTTP/1.1 400 Bad Request\n~\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{"
                    "\"code\":-32021,~\"data\":{\"requiredCapabilities\":{\"roots\":{}}}}}");
    wire_end(&w);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),       cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_cut),        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_undeclared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
