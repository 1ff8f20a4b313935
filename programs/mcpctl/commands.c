/* commands.c: the table of commands. */
#include "mcpctl.h"

#define ANY SIZE_MAX

const command commands[] = {
    {
        .name = "info",
        .args = "",
        .run = run_info,
        .summary = "Show the server's name, revision and capabilities.",
        .details = "Prints the server's name, title and version, the protocol revision in use, "
                   "the capabilities, the time from the server's start to its first answer, and "
                   "the instructions.",
        .json = "{\"revision\", \"modern\", \"firstAnswerMs\", \"serverInfo\", \"capabilities\", "
                "\"instructions\"}",
    },
    {
        .name = "ping",
        .args = "",
        .run = run_ping,
        .summary = "Measure a round trip.",
        .details = "Prints the round-trip time in milliseconds; with --count, N times, one second "
                   "apart.",
        .json = "{\"ms\"}, one line each",
    },
    {
        .name = "ls",
        .args = "[GLOB...]",
        .max_args = ANY,
        .run = run_ls,
        .summary = "List the resources.",
        .details = "Reads all pages. Prints a table on a terminal, and otherwise one URI per "
                   "line. With --long the fields are URI, size, MIME type, name, priority and "
                   "time of the last change, separated by tabs.\nControl characters in fields are "
                   "written as \\x09, so each resource is exactly one line.\nWith GLOBs, only "
                   "resources that match one of them are listed, as with --glob.",
        .json = "{\"resources\": [Resource...]}",
    },
    {
        .name = "tree",
        .args = "[GLOB...]",
        .max_args = ANY,
        .run = run_tree,
        .summary = "Show the resources as a tree of their paths.",
        .details = "Shows the path segments of the URIs, decoded. With GLOBs, only resources that "
                   "match one of them are shown.",
        .json = "{\"tree\": [{\"name\", \"resource\", \"children\"}...]}; resource and "
                "children are optional",
    },
    {
        .name = "find",
        .args = "TEXT...",
        .min_args = 1,
        .max_args = ANY,
        .run = run_find,
        .summary = "Search names, titles, descriptions and URIs, best match first.",
        .details = "Prints the resources that contain all words, ranked by BM25. A word that only "
                   "begins with or contains the search word scores lower than the word itself. "
                   "The output has the form of ls.",
        .json = "{\"resources\": [Resource with \"score\"...]}",
    },
    {
        .name = "read",
        .args = "URI...",
        .min_args = 1,
        .max_args = ANY,
        .run = run_read,
        .summary = "Write the contents of resources to stdout.",
        .details = "Writes text as it is and binary contents decoded, in the order of the URIs. "
                   "On a terminal, control characters in text are escaped, and binary contents "
                   "are refused unless --force is given. Also on a terminal, JSON that is an "
                   "array of flat objects or has columns and rows, such as database rows from "
                   "mcpd, is shown as a table that fits the terminal, and commits as a log, "
                   "unless --raw is given.\nA part (--range, --lines, --tail) is requested from "
                   "the server if one of its templates has the variables offset and length, line "
                   "and lines, or tail, as those of mcpd have. Otherwise everything is read and "
                   "cut locally.\nIf the server does not provide an https:// resource, it can be "
                   "fetched from the web: --fetch does so, and on a terminal you are asked.\nA "
                   "URI that cannot be read does not stop the others. The first failure "
                   "determines the exit status.",
        .json = "{\"contents\": [ResourceContents...]}, as sent by the server",
    },
    {
        .name = "template",
        .args = "[TEMPLATE [NAME=VALUE...]]",
        .max_args = ANY,
        .run = run_template,
        .summary = "List the URI templates, or expand one.",
        .details = "TEMPLATE is the name of one of the server's templates, or a template itself "
                   "(RFC 6570). Prints the URI, or with --read the resource. A NAME that is given "
                   "several times is a list. On a terminal you are asked for missing variables, "
                   "with the server's suggestions.",
        .json = "{\"resourceTemplates\": [ResourceTemplate...]}; {\"uri\"}; with --read, as "
                "for read",
    },
    {
        .name = "complete",
        .args = "PROMPT|TEMPLATE NAME [VALUE] [NAME=VALUE...]",
        .min_args = 2,
        .max_args = ANY,
        .run = run_complete,
        .summary = "Ask the server for completions of an argument.",
        .details = "Prints the values that begin with VALUE, one per line, for the argument NAME "
                   "of a prompt or the variable NAME of a URI template. The template is given by "
                   "its name or its text. Other arguments, NAME=VALUE, can help the server.",
        .json = "{\"values\", \"total\", \"hasMore\"}",
    },
    {
        .name = "watch",
        .args = "[URI...]",
        .max_args = ANY,
        .run = run_watch,
        .summary = "Print a line for each change.",
        .details = "Watches the URIs, or without URIs the lists of resources, prompts and tools. "
                   "A line has the time, what changed (updated, resources, prompts, tools) and "
                   "the URI, separated by tabs; with --read the new contents follow. On a "
                   "terminal, and with --read, a change of a list is followed by lines with + or "
                   "- and the entry that was added or removed: the URI of a resource, or the name "
                   "of a prompt or tool, at most 100 of them. A URI that cannot be read yet is "
                   "reported and waited for. Lost connections are restored and servers that died "
                   "are restarted, until a signal ends the command or --count changes were "
                   "printed.",
        .json = "{\"time\", \"changed\", \"uri\"}, one line each; with --read, lists also have "
                "\"added\", \"removed\" and \"more\", and resources \"contents\"",
    },
    {
        .name = "context",
        .args = "[QUERY...]",
        .max_args = ANY,
        .run = run_context,
        .summary = "Collect resources for a language model, within a budget.",
        .details = "Selects resources for the assistant (--audience user: for the user) by "
                   "priority, time of the last change and, with a QUERY, how well name, title, "
                   "description and text match it (BM25). With a QUERY, a resource that does not "
                   "match is included only if its priority is 1. The 60 best resources, judged by "
                   "the list, are read. Long texts are cut at a line, near the words of the "
                   "query. Only resources with priority 1 may take more than half of the "
                   "budget.\nPrints one Markdown document with a heading, the URI and the text, "
                   "in a fence, of each resource. With --explain it prints one line for each "
                   "resource: in or out, score, parts of the score, cost, reason and URI, "
                   "separated by tabs.",
        .json = "{\"query\", \"unit\", \"budget\", \"used\", \"resources\": [{\"uri\", "
                "\"name\", \"mimeType\", \"score\", \"cost\", \"part\", \"text\"}...]}; with "
                "--explain all resources, with \"match\", \"priority\", \"recency\", "
                "\"included\", \"why\" instead of the text",
    },
    {
        .name = "prompts",
        .args = "",
        .run = run_prompts,
        .summary = "List the prompts.",
        .details = "Prints one name per line. With --long it prints name, arguments (optional "
                   "ones in brackets) and description, separated by tabs, or in columns on a "
                   "terminal.",
        .json = "{\"prompts\": [Prompt...]}",
    },
    {
        .name = "prompt",
        .args = "NAME [ARGUMENT=VALUE...]",
        .min_args = 1,
        .max_args = ANY,
        .run = run_prompt,
        .summary = "Print the messages of a prompt.",
        .details = "On a terminal you are asked for missing arguments. If there are several "
                   "messages, each begins with its role. Contents other than text are shown only "
                   "by their kind.",
        .json = "GetPromptResult, as sent by the server",
    },
    {
        .name = "tools",
        .args = "",
        .run = run_tools,
        .summary = "List the tools.",
        .details = "Prints one name per line. With --long it prints name, parameters (optional "
                   "ones in brackets), the server's hints about side effects, and description, "
                   "separated by tabs, or in columns on a terminal.",
        .json = "{\"tools\": [Tool...]}",
    },
    {
        .name = "call",
        .args = "NAME [ARGUMENT=VALUE...]",
        .min_args = 1,
        .max_args = ANY,
        .run = run_call,
        .summary = "Call a tool.",
        .details = "A VALUE is a string, number, boolean, list (a,b or the name several times) or "
                   "object, depending on the tool's schema. ARGUMENT:=JSON is always JSON. The "
                   "arguments are checked against the schema (JSON Schema 2020-12 or draft-07). A "
                   "missing required argument gets its default; if it has none, you are asked on "
                   "a terminal for all arguments that are not given.\nThe call is shown and has "
                   "to be confirmed, unless --yes is given or your configuration has \"trusted\": "
                   "true for the server. What a tool says about itself is never taken as "
                   "permission.\nProgress is shown as a bar, and Ctrl-C cancels the call. "
                   "Questions of the server are asked on the terminal; without a terminal they "
                   "are cancelled unless --answer fills in the form. An address is shown but "
                   "never opened.",
        .json = "CallToolResult, as sent by the server",
    },
    {
        .name = "edit",
        .args = "URI",
        .min_args = 1,
        .max_args = 1,
        .run = run_edit,
        .summary = "Change a file with your editor.",
        .details = "Reads the file, runs the editor (VISUAL, else EDITOR, else vi) on a private "
                   "copy, and writes it back with the server's tool write_file, if the file still "
                   "has the version that was read. If it has not, nothing is overwritten: what "
                   "your text would change is shown, and on a terminal you may edit it again, "
                   "write it nevertheless, or keep the copy. The file keeps its charset, its line "
                   "ends and whether its last line has an end. If you change nothing, nothing is "
                   "written. 'mcpctl undo' takes the change back.",
        .json = "{\"operation\", \"uri\", \"version\", \"plus\", \"minus\", \"undo\"}; "
                "operation is \"none\" if nothing was changed",
    },
    {
        .name = "undo",
        .args = "[ID]",
        .max_args = 1,
        .run = run_undo,
        .summary = "List your changes of files, and take them back.",
        .details = "Without ID, prints your changes, newest first: time, ID, operation, state and "
                   "URI, separated by tabs, and where a file was moved to. With ID or --last it "
                   "takes one back, if the file still has the version that the change left and you "
                   "may still write it; that is a change of its own. --purge makes the server "
                   "forget old contents. The server has to be an mcpd that you may write with.",
        .json = "{\"changes\": [{\"id\", \"time\", \"operation\", \"uri\", \"to\", "
                "\"undoes\", \"state\"}...]}; with ID or --last {\"operation\", \"uri\", "
                "\"version\", \"undo\"}; with --purge {\"forgotten\"}",
    },
    {
        .name = "trace",
        .args = "FILE",
        .min_args = 1,
        .max_args = 1,
        .flags = COMMAND_ALONE | COMMAND_NOT_IN_SHELL,
        .run = run_trace,
        .summary = "Record the messages between a host and a server.",
        .details = "Starts the server's command and passes on stdin, stdout and stderr. Put it "
                   "before the command in a host's configuration. Each message is appended to "
                   "FILE (- is stderr) as one line of JSON with time, from (client or server) and "
                   "message, or text if it is not JSON, or stderr.",
    },
    {
        .name = "shell",
        .args = "",
        .flags = COMMAND_NOT_IN_SHELL,
        .run = run_shell,
        .summary = "Run several commands in one session.",
        .details =
            "Works line by line, also with a screen reader and on any terminal; browse is for "
            "the full screen. "
            "Accepts the same commands and options, except those that select the server. "
            "Words are quoted as in a shell. /NAME is short for prompt NAME. roots lists "
            "the folders of --root, and root add DIR and root remove DIR change them (a "
            "server of a revision before 2026-07-28 is notified, a later one asks when it "
            "needs them). help lists the commands; exit or the end of input ends the "
            "shell. On a terminal there is a history, and completion of commands, options, "
            "URIs, template variables, prompts, tools and their arguments (with "
            "libedit.so.2, if installed). Otherwise lines are read from stdin, and the "
            "exit status is that of the last one.",
    },
    {
        .name = "browse",
        .args = "[NAME|URL...]",
        .max_args = ANY,
        .flags = COMMAND_ALONE | COMMAND_NOT_IN_SHELL,
        .run = run_browse,
        .summary = "Browse one or several servers on the full screen of a terminal.",
        .details = "Shows the lists of the servers with a preview of the selected entry; ? shows "
                   "the keys. Of the servers, one may be a command or a name; the others are "
                   "addresses. It is a program of its own, mcpctl-browse, which is left out where "
                   "mcpctl was built without ncurses. For screen readers, and on terminals that "
                   "cannot move the cursor, use shell.",
    },
    {
        .name = "web",
        .args = "[NAME|URL...]",
        .max_args = ANY,
        .flags = COMMAND_ALONE | COMMAND_NOT_IN_SHELL,
        .run = run_web,
        .summary = "Look at one or several servers in a web browser.",
        .details = "Serves a page on this machine, opens it in the browser, and is the gateway "
                   "between it and the servers, until Ctrl-C. The servers are a command after --, "
                   "names, addresses, and those of the files of --servers. Only the browser that "
                   "is opened gets in: it exchanges a code, which is valid once and for 60 "
                   "seconds, for a secret that its tab keeps, also when the page is loaded again. "
                   "Enter in the terminal opens another page. --no-browser prints the address. It "
                   "is a program of its own, mcpctl-web.",
    },
    {
        .name = "login",
        .args = "[SERVER]",
        .max_args = 1,
        .flags = COMMAND_ALONE | COMMAND_NOT_IN_SHELL | COMMAND_NO_SERVER,
        .run = run_login,
        .summary = "Log in at a server that requires it (OAuth).",
        .details =
            "SERVER is an address or a name. Opens the browser, waits for the answer at an "
            "address on this machine, and stores the tokens in mcp/auth.json in the user's "
            "state folder (~/.local/state). Without a display, the address is printed, and "
            "the address that the browser shows at the end can be pasted. --device logs in "
            "with a browser on another machine. Other commands renew the tokens. A command "
            "that needs a login offers it on a terminal, and otherwise exits with 8.\nIf the "
            "authorization server does not let clients register themselves, --client-id "
            "names the client that was registered by hand.",
        .json = "{\"server\", \"account\", \"issuer\", \"clientId\", \"scope\", \"expires\", "
                "\"hasToken\", \"renewable\", \"bound\"}",
    },
    {
        .name = "logout",
        .args = "[SERVER]",
        .max_args = 1,
        .flags = COMMAND_ALONE | COMMAND_NOT_IN_SHELL | COMMAND_NO_SERVER,
        .run = run_logout,
        .summary = "Log out: revoke the tokens and remove them.",
        .details = "The tokens are removed even if the authorization server cannot revoke them.",
        .json = "{\"server\", \"loggedOut\"}",
    },
    {
        .name = "auth",
        .args = "[SERVER]",
        .max_args = 1,
        .flags = COMMAND_ALONE | COMMAND_NOT_IN_SHELL | COMMAND_NO_SERVER,
        .run = run_auth,
        .summary = "List the logins.",
        .details = "Prints server, account (login --for), issuer, scopes, the expiry of the token, "
                   "and \"renewable\" if it is renewed without a new login, separated by tabs. "
                   "Tokens are never printed. Nothing is sent.",
        .json = "{\"logins\": [{\"server\", \"account\", \"issuer\", \"clientId\", \"scope\", "
                "\"expires\", \"hasToken\", \"renewable\", \"bound\"}...]}",
    },
    {
        .name = "servers",
        .args = "",
        .flags = COMMAND_ALONE | COMMAND_NO_SERVER,
        .run = run_servers,
        .summary = "List the server names that --server accepts.",
        .details = "Prints name, command or address, and file, separated by tabs. If a name "
                   "appears more than once, the first one is used.",
        .json = "{\"servers\": [{\"name\", \"file\", \"entry\"}...]}",
    },
};

const size_t n_commands = sizeof(commands) / sizeof(commands[0]);

const command *command_find(const char *name)
{
    for (size_t i = 0; i < n_commands; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}
