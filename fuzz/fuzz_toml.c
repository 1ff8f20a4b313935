/* fuzz_toml.c: a TOML configuration file. If it is accepted, it is an object whose JSON can be
 * parsed again. */
#include <stdint.h>
#include <stdlib.h>

#include <common/toml.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_json_doc *doc = NULL;
    mcp_error error;
    int rc = toml_parse((mcp_str){(const char *)data, size}, &doc, &error);
    require((rc == MCP_OK) == (doc != NULL));
    if (doc)
        require(mcp_json_is(mcp_json_root(doc), MCP_JSON_OBJECT));
    else
        require(error.code == rc && error.text[0] && error.offset <= size);
    mcp_json_free(doc);
    return 0;
}
