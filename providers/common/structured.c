/* structured.c: see structured.h. */
#include "structured.h"

/* Seen in September 2026: if a result has structured content, the model gets it as JSON, and nothing
 * of the other content. */
static const char *const structured[] = {
    "claude-code",        /* github.com/anthropics/claude-code/issues/79944 */
    "Visual Studio Code", /* github.com/microsoft/vscode/issues/290063 */
};

bool common_reads_structured(const mcp_request *req)
{
    mcp_str name = mcp_json_string(mcp_json_get(mcp_request_client_info(req), "name"));
    for (size_t i = 0; i < sizeof(structured) / sizeof(*structured); i++)
        if (mcp_str_eq(name, mcp_str_from(structured[i])))
            return true;
    return false;
}

size_t common_answer_bytes(const mcp_json *arguments, size_t usual)
{
    enum { LEAST = 100, MOST = 100000, BYTES = 4 /* of a token */ };
    int64_t n = mcp_json_int(mcp_json_get(arguments, "max_tokens"), 0);
    if (n <= 0)
        return usual * BYTES;
    return (size_t)(n < LEAST ? LEAST : n < MOST ? n : MOST) * BYTES;
}

size_t common_json_bytes(mcp_str text)
{
    enum { CONTROL = 6 /* \u0000 */ };
    size_t size = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        size += c < ' ' ? CONTROL : c == '"' || c == '\\' ? 2 : 1;
    }
    return size;
}
