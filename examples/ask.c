/* ask.c: tools that ask for input: a form and a web page for the user, and a sentence from the
 * client's model.
 *
 *     ./ask
 *     ./ask --http 127.0.0.1:8642
 *
 * When the answers have arrived, the handler runs again from its start. It can therefore be written
 * as if each answer were available immediately, and the same code serves every revision of the
 * protocol. mcp_request_once() guards actions that must happen only once.
 */
#include <mcp/input.h>
#include <mcp/io.h>
#include <stdio.h>

static const char table_form[] =
    "{\"type\":\"object\",\"required\":[\"guests\"],\"properties\":{"
    "\"guests\":{\"type\":\"integer\",\"title\":\"How many?\",\"minimum\":1,\"maximum\":12,"
    "\"default\":2},"
    "\"seats\":{\"type\":\"string\",\"title\":\"Where?\",\"enum\":[\"window\",\"garden\",\"bar\"],"
    "\"default\":\"window\"},"
    "\"highchair\":{\"type\":\"boolean\",\"title\":\"With a highchair?\",\"default\":false}}}";

/* ---- a form ---------------------------------------------------------------------------------- */

/* Books a table in the first round that gets here, and returns its number in every round. The
 * number is sent back and forth with the request, like the answers, so the server keeps no state. */
static int book(mcp_request *req, int *booked, char number[16])
{
    if (mcp_request_once(req, "booked")) {
        snprintf(number, 16, "%d", ++*booked);
        return mcp_request_set_state(req, mcp_str_from(number));
    }
    mcp_str state = mcp_request_state(req);
    snprintf(number, 16, "%.*s", (int)state.len, state.len ? state.ptr : "");
    return state.len ? MCP_OK : MCP_ENOMEM;
}

/* Asks the client's model for one sentence, if the client supports sampling. */
static int compliment(mcp_request *req, mcp_str *ret)
{
    const mcp_json *result;
    *ret = MCP_STR("Enjoy your meal!");
    if (!mcp_request_can(req, "sampling"))
        return MCP_OK;
    int rc = mcp_request_sample(req, "compliment",
                                MCP_OPTIONS(mcp_sample, .max_tokens = 60,
                                            .text = "Wish our guests a good meal, in one sentence"),
                                &result);
    if (rc == MCP_OK)
        *ret = mcp_sampled_text(result);
    return rc == MCP_EREMOTE ? MCP_OK : rc; /* the client declined: use the default */
}

static int book_table(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_str day = mcp_json_string(mcp_json_get(arguments, "day"));
    mcp_elicited table;
    int rc = mcp_request_elicit(
        req, "table",
        MCP_OPTIONS(mcp_elicit, .message = "Which table shall I book?", .schema = table_form),
        &table);
    if (rc != MCP_OK)
        return rc; /* MCP_INPUT_REQUIRED (the handler will run again) or an error that is already set */
    if (table.action != MCP_ACTION_ACCEPT)
        return mcp_reply_text(req, "No table was booked: the user does not want one.");

    char number[16];
    mcp_str wish;
    if ((rc = book(req, user, number)) != MCP_OK || (rc = compliment(req, &wish)) != MCP_OK)
        return rc;
    int guests = (int)mcp_json_int(mcp_json_get(table.content, "guests"), 0);
    mcp_str seats = mcp_json_string(mcp_json_get(table.content, "seats"));
    if (!seats.len)
        seats = MCP_STR("any seats");
    return mcp_reply_textf(req, "Table %s is booked for %.*s: %d guests, %.*s. %.*s", number,
                           (int)day.len, day.ptr, guests, (int)seats.len, seats.ptr, (int)wish.len,
                           wish.ptr);
}

/* ---- a page ---------------------------------------------------------------------------------- */

/* The client and the model may see the contents of a form, so secrets must be entered on a web page
 * of the server. The user's consent to open the page does not mean that the payment was made. */
static int pay(mcp_request *req, const mcp_json *arguments, void *user)
{
    const char *series = mcp_request_series(req);
    char url[96];
    mcp_elicited visit;
    (void)arguments, (void)user;
    if (!series)
        return MCP_ENOMEM;
    snprintf(url, sizeof(url), "https://pay.example.com/deposit/%s", series);
    int rc = mcp_request_elicit(
        req, "deposit",
        MCP_OPTIONS(mcp_elicit, .message = "Please pay the deposit there", .url = url), &visit);
    if (rc != MCP_OK)
        return rc;
    return visit.action == MCP_ACTION_ACCEPT
               ? mcp_reply_textf(req, "The user is on the way to %s", url)
               : mcp_reply_tool_error(req,
                                      "The user does not want to pay: the table is free again");
}

/* ---- the server ------------------------------------------------------------------------------ */

static const mcp_tool tools[] = {
    {.size = sizeof(mcp_tool),
     .name = "book_table",
     .description = "Book a table for a day; asks the user for the rest",
     .input_schema = "{\"type\":\"object\",\"required\":[\"day\"],"
                     "\"properties\":{\"day\":{\"type\":\"string\",\"maxLength\":40}}}",
     .call = book_table},
    {.size = sizeof(mcp_tool),
     .name = "pay_deposit",
     .description = "Take the user to the page where the deposit is paid",
     .call = pay},
};

static int serve(mcp_server *server, int argc, char **argv, mcp_error *error)
{
    if (argc == 3 && strcmp(argv[1], "--http") == 0)
        return mcp_serve_http(server, argv[2], NULL, error);
    return mcp_serve_stdio(server, error);
}

int main(int argc, char **argv)
{
    mcp_server *server = NULL;
    mcp_error error = {0};
    int booked = 0;
    int rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "ask", .version = "1.0"),
                            &server, &error);
    for (size_t i = 0; rc == MCP_OK && i < sizeof(tools) / sizeof(tools[0]); i++)
        rc = mcp_server_add_tool(server, &tools[i], &booked, &error);
    if (rc == MCP_OK)
        rc = serve(server, argc, argv, &error);
    if (rc != MCP_OK)
        fprintf(stderr, "ask: %s\n", error.text);
    mcp_server_free(server);
    return rc == MCP_OK ? 0 : 1;
}
