/* commands.c: the table of commands. */
#include "mcpctl.h"

#define ANY SIZE_MAX

const command commands[] = {
    {
        .name = "info",
        .args = "",
        .run = run_info,
        .summary = "Show who the server is, what it speaks and what it offers.",
        .details =
            "Name, title and version as the server gives them, the protocol revision that was "
            "found out, the capabilities, how long it took from starting the server to its "
            "first answer, and its instructions.",
        .json = "{\"revision\", \"modern\", \"firstAnswerMs\", \"serverInfo\", \"capabilities\", "
                "\"instructions\"}",
    },
    {
        .name = "ping",
        .args = "",
        .run = run_ping,
        .summary = "Measure a round trip.",
        .details = "One line with the milliseconds; with --count N times, a second apart.",
        .json = "{\"ms\"}, one line each",
    },
    {
        .name = "ls",
        .args = "[GLOB...]",
        .max_args = ANY,
        .run = run_ls,
        .summary = "List the resources.",
        .details =
            "All pages. On a terminal a table; otherwise one URI per line. With --long the fields "
            "URI, size, MIME type, name, priority and time of the last change, separated by "
            "tabs.\nA control character in a field is written as \\x09, so that a line is always "
            "one resource.\nWith GLOBs only what matches one of them, as with --glob.",
        .json = "{\"resources\": [Resource...]}",
    },
    {
        .name = "tree",
        .args = "[GLOB...]",
        .max_args = ANY,
        .run = run_tree,
        .summary = "Show the resources as a tree of their paths.",
        .details = "The parts of the URIs, decoded. With GLOBs only what matches one of them.",
        .json = "{\"tree\": [{\"name\", \"resource\", \"children\"}...]}; resource and children "
                "are there where they apply",
    },
    {
        .name = "find",
        .args = "TEXT...",
        .min_args = 1,
        .max_args = ANY,
        .run = run_find,
        .summary = "Search names, titles, descriptions and URIs, the best match first.",
        .details = "Resources that have all words, ranked by BM25; a word that begins with or "
                   "contains what was asked for counts less than the word itself. Printed as ls "
                   "does.",
        .json = "{\"resources\": [Resource with \"score\"...]}",
    },
    {
        .name = "read",
        .args = "URI...",
        .min_args = 1,
        .max_args = ANY,
        .run = run_read,
        .summary = "Write the contents of resources to stdout.",
        .details =
            "Text as it is, binary contents decoded, in the order of the URIs. On a terminal "
            "control characters of text are shown instead of written, and binary contents are "
            "refused unless --force is given. JSON that is an array of flat objects, or has "
            "columns and rows, as what mcpd serves of a database, is shown there as a table that "
            "fits the terminal, and commits as a log, unless --raw is given.\nA part (--range, "
            "--lines, --tail) is asked of the server where one of its templates has the variables "
            "offset and length, line and lines, or tail, as those of mcpd have; else all is read "
            "and cut here.\nAn https:// resource that the server does not give can be got from the "
            "web without it: --fetch does so, and on a terminal you are asked.\nA URI that cannot "
            "be read does not stop the others; the first failure decides the exit status.",
        .json = "{\"contents\": [ResourceContents...]}, as the server gave them",
    },
    {
        .name = "template",
        .args = "[TEMPLATE [NAME=VALUE...]]",
        .max_args = ANY,
        .run = run_template,
        .summary = "List the URI templates, or expand one.",
        .details = "TEMPLATE is the name of one of the server's, or a template itself (RFC 6570). "
                   "Prints the URI; with --read what it names. A NAME that comes several times is "
                   "a list. On a terminal the variables that were not given are asked for, with "
                   "the server's proposals.",
        .json = "{\"resourceTemplates\": [ResourceTemplate...]}; {\"uri\"}; with --read as read",
    },
    {
        .name = "complete",
        .args = "PROMPT|TEMPLATE NAME [VALUE] [NAME=VALUE...]",
        .min_args = 2,
        .max_args = ANY,
        .run = run_complete,
        .summary = "Ask the server for values of an argument.",
        .details = "Of the argument NAME of a prompt, or the variable NAME of a URI template (its "
                   "name, or itself), those that begin with VALUE, one per line. The other "
                   "arguments may help the server.",
        .json = "{\"values\", \"total\", \"hasMore\"}",
    },
    {
        .name = "watch",
        .args = "[URI...]",
        .max_args = ANY,
        .run = run_watch,
        .summary = "Print a line for each change of a resource.",
        .details =
            "Without URIs for each change of the lists of resources, prompts and tools. A line has "
            "the time, what changed (updated, resources, prompts, tools) and the URI, separated by "
            "tabs; with --read the new contents follow it. On a terminal and with --read a change "
            "of a list is followed by lines with + or - and what was added or removed: the URI of "
            "a resource, the name of a prompt or tool; of very many the first hundred. A URI that "
            "cannot be read yet is told, and waited for. Lost connections are made again and a "
            "server that died is started again, until a signal ends it, or --count changes were "
            "told.",
        .json = "{\"time\", \"changed\", \"uri\"}, one line each; with --read of lists \"added\", "
                "\"removed\" and \"more\"",
    },
    {
        .name = "context",
        .args = "[QUERY...]",
        .max_args = ANY,
        .run = run_context,
        .summary = "Collect what a language model should see, within a budget.",
        .details =
            "Picks resources for the assistant (--audience user: for the user) by priority, the "
            "time of their last change and, with a QUERY, how well name, title, description and "
            "text match it (BM25); without a match only what has priority 1 is in. The 60 best by "
            "what the list says are read. What is long is cut at a line, near the words of the "
            "query; nothing but priority 1 takes more than the half of the budget.\nPrints one "
            "Markdown document: a heading for each resource, its URI, its text in a fence. With "
            "--explain a line for each resource: in or out, score, parts of the score, cost, why, "
            "and URI, separated by tabs.",
        .json = "{\"query\", \"unit\", \"budget\", \"used\", \"resources\": [{\"uri\", \"name\", "
                "\"mimeType\", \"score\", \"cost\", \"part\", \"text\"}...]}; with --explain all "
                "resources, with \"match\", \"priority\", \"recency\", \"included\", \"why\" "
                "instead of the text",
    },
    {
        .name = "prompts",
        .args = "",
        .run = run_prompts,
        .summary = "List the prompts.",
        .details = "One name per line; with --long name, arguments (optional ones in brackets) and "
                   "description, separated by tabs, on a terminal in columns.",
        .json = "{\"prompts\": [Prompt...]}",
    },
    {
        .name = "prompt",
        .args = "NAME [ARGUMENT=VALUE...]",
        .min_args = 1,
        .max_args = ANY,
        .run = run_prompt,
        .summary = "Print the messages of a prompt.",
        .details = "On a terminal the arguments that are missing are asked for. Of several "
                   "messages each begins with its role; of contents that are no text only the kind "
                   "is printed.",
        .json = "GetPromptResult, as the server gave it",
    },
    {
        .name = "tools",
        .args = "",
        .run = run_tools,
        .summary = "List the tools.",
        .details = "One name per line; with --long name, parameters (optional ones in brackets), "
                   "what the server says of its effects, and description, separated by tabs, on a "
                   "terminal in columns.",
        .json = "{\"tools\": [Tool...]}",
    },
    {
        .name = "call",
        .args = "NAME [ARGUMENT=VALUE...]",
        .min_args = 1,
        .max_args = ANY,
        .run = run_call,
        .summary = "Call a tool.",
        .details = "A VALUE is a text, number, boolean, list (a,b or the name several times) or "
                   "object as the tool's schema wants it; ARGUMENT:=JSON is JSON in any case. The "
                   "arguments are checked against the schema (JSON Schema 2020-12 or draft-07). A "
                   "required one that is missing gets its default; without one all that are open "
                   "are asked for on a terminal.\nWhat is to be called is shown and asked about, "
                   "unless --yes is given or the user's configuration says \"trusted\": true of "
                   "the server: what a tool says about itself is no permission.\nProgress is shown "
                   "as a bar, Ctrl-C cancels. What the server asks meanwhile is asked on the "
                   "terminal, without one it is told that nobody can be asked; an address is shown "
                   "and never opened.",
        .json = "CallToolResult, as the server gave it",
    },
    {
        .name = "trace",
        .args = "FILE",
        .min_args = 1,
        .max_args = 1,
        .flags = COMMAND_ALONE | COMMAND_NOT_IN_SHELL,
        .run = run_trace,
        .summary = "Stand between a host and a server and record what they say.",
        .details = "Starts the server's command and passes on stdin, stdout and stderr; put it "
                   "before the command in a host's configuration. Each message is added to FILE (- "
                   "is stderr) as one line of JSON: time, from (client or server) and message, or "
                   "text where it is no JSON, or stderr.",
    },
    {
        .name = "shell",
        .args = "",
        .flags = COMMAND_NOT_IN_SHELL,
        .run = run_shell,
        .summary = "Run commands line by line in one session.",
        .details =
            "The same commands and options, without the server; words are quoted as in a shell. "
            "/NAME is prompt NAME, roots lists the folders of --root, root add DIR and root remove "
            "DIR change them (a server of a revision before 2026-07-28 is notified, one of a later "
            "revision asks when it needs them), help shows what there is, exit or the end of input "
            "ends. On a terminal with history, and with completion of commands, options, URIs, "
            "template variables, prompts, tools and their arguments (by libedit.so.2, if it is "
            "installed). Otherwise lines are read from stdin; the exit status is that of the last.",
    },
    {
        .name = "servers",
        .args = "",
        .flags = COMMAND_ALONE | COMMAND_NO_SERVER,
        .run = run_servers,
        .summary = "List the names that --server understands.",
        .details = "Name, command or address, and file, separated by tabs. Of a name that comes "
                   "twice the first counts.",
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
