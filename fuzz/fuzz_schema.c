/* fuzz_schema.c: a schema and a value, separated by the first NUL byte or newline. The first byte
 * selects options. A schema that compiles must validate any value within its budget. The result is
 * the same when validation is repeated, and when all violations are requested. Patterns, formats
 * and $refs are included. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/schema.h>

static void require(int condition)
{
    if (!condition)
        abort();
}

static void look_at(const mcp_schema_issue *issue, void *user)
{
    size_t *count = user;
    volatile char sink = 0;
    for (size_t i = 0; i < issue->path.len; i++)
        sink = issue->path.ptr[i];
    for (size_t i = 0; i < issue->expected.len; i++) {
        sink = issue->expected.ptr[i];
        require((unsigned char)sink >= 0x20 && sink != 0x7f);
    }
    require(issue->path.len == 0 || issue->path.ptr[0] == '/');
    require(issue->keyword.len > 0 && issue->schema_at.len > 0);
    ++*count;
}

static void validate(const mcp_schema *schema, const mcp_json *value)
{
    size_t count = 0;
    mcp_error first = {0}, again = {0};
    int rc = mcp_schema_validate(schema, value, &first);
    require(rc == MCP_OK || rc == MCP_EINVAL || rc == MCP_ELIMIT);
    require(rc == MCP_OK || first.text[0] != '\0');
    int all = mcp_schema_validate_all(schema, value, 8, look_at, &count, &again);
    require(count <= 8);
    /* Collecting all violations may exhaust the budget. */
    require(all == rc || (all == MCP_ELIMIT && rc == MCP_EINVAL));
    require(all != MCP_EINVAL || count > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    mcp_schema_options o = {
        .size = sizeof(o), .max_steps = 20000, .max_subschemas = 2000, .pattern_limit = 20000};
    o.dialect = data[0] & 1 ? MCP_SCHEMA_DRAFT_07 : MCP_SCHEMA_2020_12;
    o.assert_formats = data[0] & 2;
    const char *text = (const char *)data + 1;
    size--;
    const char *end = memchr(text, '\0', size);
    if (!end)
        end = memchr(text, '\n', size);
    size_t split = end ? (size_t)(end - text) : size;
    mcp_str rest = {text + split + (end != NULL), size - split - (end != NULL)};
    mcp_schema *schema = NULL;
    mcp_error error = {0};
    if (mcp_schema_compile_text(NULL, (mcp_str){text, split}, &o, &schema, &error) != MCP_OK) {
        require(error.code < 0 && error.text[0] != '\0');
        return 0;
    }
    mcp_json_doc *doc = NULL, *own = NULL;
    if (mcp_json_parse(rest, NULL, NULL, &doc, NULL) == MCP_OK)
        validate(schema, mcp_json_root(doc));
    /* The schema is also validated as a value. */
    if (mcp_json_parse((mcp_str){text, split}, NULL, NULL, &own, NULL) == MCP_OK)
        validate(schema, mcp_json_root(own));
    mcp_json_free(doc);
    mcp_json_free(own);
    mcp_schema_free(schema);
    return 0;
}
