/* status.c: the statuses that answers can have, ascending, each with its line. */
#include "http/server/answer.h"

const mcp__http_status_line mcp__http_statuses[MCP__HTTP_STATUSES] = {
    {200, {"HTTP/1.1 200 OK\r\n", 17}},
    {202, {"HTTP/1.1 202 Accepted\r\n", 23}},
    {204, {"HTTP/1.1 204 No Content\r\n", 25}},
    {304, {"HTTP/1.1 304 Not Modified\r\n", 27}},
    {400, {"HTTP/1.1 400 Bad Request\r\n", 26}},
    {401, {"HTTP/1.1 401 Unauthorized\r\n", 27}},
    {403, {"HTTP/1.1 403 Forbidden\r\n", 24}},
    {404, {"HTTP/1.1 404 Not Found\r\n", 24}},
    {405, {"HTTP/1.1 405 Method Not Allowed\r\n", 33}},
    {406, {"HTTP/1.1 406 Not Acceptable\r\n", 29}},
    {408, {"HTTP/1.1 408 Request Timeout\r\n", 30}},
    {413, {"HTTP/1.1 413 Content Too Large\r\n", 32}},
    {414, {"HTTP/1.1 414 URI Too Long\r\n", 27}},
    {415, {"HTTP/1.1 415 Unsupported Media Type\r\n", 37}},
    {417, {"HTTP/1.1 417 Expectation Failed\r\n", 33}},
    {421, {"HTTP/1.1 421 Misdirected Request\r\n", 34}},
    {429, {"HTTP/1.1 429 Too Many Requests\r\n", 32}},
    {431, {"HTTP/1.1 431 Request Header Fields Too Large\r\n", 46}},
    {501, {"HTTP/1.1 501 Not Implemented\r\n", 30}},
    {502, {"HTTP/1.1 502 Bad Gateway\r\n", 26}},
    {503, {"HTTP/1.1 503 Service Unavailable\r\n", 34}},
    {505, {"HTTP/1.1 505 HTTP Version Not Supported\r\n", 41}},
};

bool mcp__http_has_status(int status)
{
    for (size_t i = 0; i < MCP__HTTP_STATUSES; i++) {
        if (mcp__http_statuses[i].status == status)
            return true;
    }
    return false;
}
