/* The parts of the headers that are only for C++, as C++17 and C++20. */
#include <mcp/io.h>
#include <mcp/module.h>

static mcp_str word = MCP_STR("word");
static const mcp_uri_value values[] = {MCP_URI_VALUE("a", word), MCP_URI_VALUE("b", MCP_STR("c"))};

struct trip {
    mcp_str to;
    int64_t days;
    double weight;
    bool back;
    mcp_str tags[4];
    size_t n_tags;
};
static constexpr mcp_field fields[] = {
    MCP_STRING_FIELD(trip, to, .title("To").description("Where").one_of("sea|hills").required()),
    MCP_INT_FIELD(trip, days, .minimum(1).maximum(MCP_NO_MAXIMUM)),
    MCP_NUMBER_FIELD(trip, weight, .minimum(MCP_NO_MINIMUM).maximum(1.5)),
    MCP_BOOL_FIELD(trip, back, .required(false)),
    MCP_STRINGS_FIELD(trip, tags, n_tags, .min_items(1).max_length(20)),
};
static_assert(fields[0].size == sizeof(mcp_field) && fields[0].required, "the calls set members");
static_assert(fields[1].type == MCP_FIELD_INT && fields[1].offset == offsetof(trip, days), "");
static_assert(fields[2].maximum == 1.5 && fields[3].type == MCP_FIELD_BOOL, "");
static_assert(fields[4].max_items == 4 && fields[4].min_items == 1, "as long as the array");
static_assert(fields[4].count_offset == offsetof(trip, n_tags), "");

static int mount(mcp_server *, const char *, const mcp_json *, const char *, mcp_error *)
{
    return MCP_OK;
}
static int check(const char *, const mcp_json *, const char *, mcp_error *)
{
    return MCP_OK;
}
static int describe(const char *, const mcp_json *, const char *, const mcp_description *to, mcp_error *error)
{
    mcp::sized<mcp_source> source;
    source.prefix = "words:";
    return to->source(&source, error, to->user);
}
MCP_MODULE(
    words, .about("Words").options_schema("{}").source_is_path().mount(mount).check(check).describe(describe));

int use();
int use()
{
    mcp_server *server = nullptr;
    mcp::sized<mcp_icon> icons[2];
    mcp::sized<mcp_server_options> options;
    static_assert(sizeof(icons) == 2 * sizeof(mcp_icon), "an array of them is one of ours");
    icons[0].src = icons[1].src = "data:,";
    options.icons = icons;
    options.n_icons = 2;
    options.title = values[1].name.ptr;
    trip t = {};
    mcp_fields_read(fields, 5, nullptr, &t);
    mcp_outcome outcome = MCP_ENOMEM;
    return mcp_server_new(&options, &server, nullptr) == outcome;
}
