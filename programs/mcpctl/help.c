/* help.c: --help and the manual page (mcpctl --help-man > man/mcpctl.1), generated from the tables
 * of commands, options and exit codes.
 */
#include <common/completion.h>
#include <common/help.h>

#include "mcpctl.h"

static const char summary[] = "Use an MCP server from the command line.";
static const char explanation[] =
    "The server is a command after --, an address (http://, https://, unix:PATH) or a "
    "name. A command is started without a shell, used over its stdin and stdout, and ended "
    "afterwards. Addresses and names are given with --server; an address may also be the "
    "first word.";

/* Sections of the manual that consist of text. */
static const struct {
    const char *title, *text;
} sections[] = {
    {"SERVERS",
     "A NAME of --server is searched for in these files, in this order; the first match is "
     "used. In the current folder: .mcp.json, .vscode/mcp.json, .cursor/mcp.json, "
     ".gemini/settings.json, .codex/config.toml, opencode.json, opencode.jsonc and "
     ".github/mcp.json. For the user: mcpctl/servers.json in the configuration folder "
     "(~/.config), ~/.claude.json (first its entries for the current folder), "
     "Claude/claude_desktop_config.json, ~/.cursor/mcp.json, Code/User/mcp.json, "
     "~/.codex/config.toml, ~/.gemini/settings.json, opencode/opencode.json and "
     "opencode.jsonc, and ~/.copilot/mcp-config.json. A file that is both, as in the home folder, "
     "is the user's. Each file has the format of its host. "
     "mcpctl/servers.json has an object mcpServers with an entry for each name: command, "
     "args, env, envFile and cwd, or url and headers. Comments and trailing commas are "
     "allowed. ${env:NAME}, ${NAME}, ${NAME:-default}, ${workspaceFolder}, ${userHome} and "
     "${input:ID} are replaced (Gemini CLI: also $NAME; opencode: only {env:NAME}; Codex: "
     "none, except through bearer_token_env_var and env_http_headers).\nBefore a command "
     "from such a file runs, it is shown and has to be confirmed, once. The confirmation is "
     "stored as a hash of the whole command line with its environment, in mcpctl/confirmed "
     "in the user's state folder (~/.local/state). The same applies to an address in a file "
     "of the current folder. Variables are replaced, inputs asked for and envFile read only "
     "after the confirmation. envFile has to be a regular file of at most 256 KiB; the "
     "variables that it sets are shown and confirmed in the same way.\n\"trusted\": true in "
     "an entry allows calls of the server's tools without a confirmation. It is ignored in "
     "files of the current folder."},
    {"JSON",
     "With --json, stdout has one JSON document, or one per line where the command says so. "
     "Objects of the server are passed on in the form of the specification. Members may be "
     "added, but are never renamed or removed. A document is whole or absent: after a failure, "
     "nothing is written, and the exit status shows why."},
    {"ENVIRONMENT",
     "COLUMNS overrides the width of the terminal. NO_COLOR turns colours off, and so does "
     "TERM=dumb. XDG_CONFIG_HOME and XDG_STATE_HOME are used, and for addresses "
     "https_proxy, http_proxy and no_proxy. SSL_CERT_FILE names trusted certificates (PEM) "
     "that replace those of the system. BROWSER is the program that opens the page of a "
     "login; without it, xdg-open is used if there is a display. For logins without a person, "
     "the options from --client-id to --keyring can be set as variables: MCPCTL_CLIENT_ID, "
     "MCPCTL_CLIENT_SECRET_FILE, MCPCTL_GRANT and so on, and MCPCTL_CLIENT_SECRET is the secret "
     "itself."},
    {"LOGINS",
     "The tokens of logins are in mcp/auth.json in the user's state folder (~/.local/state), which "
     "only the user may read, or in the keyring of the desktop (--keyring). Several processes may "
     "use them at the same time. A token is sent only to the server that it was issued for. With "
     "a header Authorization (--header), no login is used.\nThe entry of a server in a "
     "configuration file may have an object \"oauth\": clientId, clientSecret, "
     "clientSecretFile, clientMetadataUrl, key, grant, scopes (a text or an array), issuer, "
     "callbackUrl (also redirectUri, or callbackPort), assertionFile, assertionCommand, "
     "idpTokenEndpoint, idpClientId, idpClientSecretFile, omitResource, assumePkce, "
     "legacyEndpoints, dpop, trustedIssuer and keyring. They are the options of the same names, "
     "which take precedence "
     "over them; environment variables come last. In a file of the current folder, members that "
     "name files or commands or turn checks off are ignored."},
};

static const struct {
    int code;
    const char *text;
} exits[] = {
#define EXIT_ROW(name, number, text) {number, text},
    EXITS(EXIT_ROW)
#undef EXIT_ROW
};

static const char *const examples[] = {
    "mcpctl info -- mcpd ~/project",
    "mcpctl ls --long -- mcpd ~/project",
    "mcpctl read file:///home/me/project/README.md -- mcpd ~/project",
    "mcpctl tree http://127.0.0.1:8642/mcp",
    "mcpctl info -s unix:/run/user/1000/mcp.sock",
    "mcpctl find -s NAME read me",
    "mcpctl read --tail 20 -s NAME file:///var/log/app.log",
    "mcpctl call -s NAME search query=libmcp limit=5",
    "mcpctl ls --json -- npx -y @modelcontextprotocol/server-everything",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- --help ---------------------------------------------------------------------------------- */

static void usage(FILE *to, const command *c)
{
    const char *name = c ? c->name : "COMMAND", *args = c ? c->args : "[ARGS]";
    bool none = c && (c->flags & COMMAND_NO_SERVER);
    fprintf(to, "Usage: mcpctl %s [OPTIONS]%s%s%s\n", name, *args ? " " : "", args,
            none ? "" : " -- SERVER-COMMAND [ARGS...]");
    if (!c || !(c->flags & COMMAND_ALONE))
        fprintf(to,
                "       mcpctl %s [OPTIONS]%s%s -s NAME|URL\n"
                "       mcpctl %s [OPTIONS] URL%s%s\n",
                name, *args ? " " : "", args, name, *args ? " " : "", args);
}

static bool is_for_logins(const option *o)
{
    return o->at >= offsetof(settings, login) && o->at < offsetof(settings, globs);
}

/* Writes those of the command's options that it alone has, or those that all commands have; in both
 * cases those for logins or the others. */
static void put_options(FILE *to, const command *c, bool own, bool for_logins)
{
    for (size_t i = 0; i < n_options; i++) {
        const option *o = &options[i];
        if (option_is_for(o, c ? c->name : NULL) && (o->only != NULL) == own &&
            (own || is_for_logins(o) == for_logins))
            help_option(to, o);
    }
}

/* What belongs to this command comes first. The many options for logins come last, or are left to
 * the commands about logins. */
static void put_all_options(FILE *to, const command *c)
{
    fprintf(to, c ? "\nOptions:\n" : "\nOptions of all commands:\n");
    put_options(to, c, true, false);
    put_options(to, c, false, false);
    if (c && !option_has_word("login|logout|auth", c->name)) {
        fprintf(to, "\n");
        if (!(c->flags & COMMAND_NO_SERVER))
            help_wrap(to, "Options for logins (OAuth): see 'mcpctl help login'.", 0, 0);
        return;
    }
    fprintf(to, "\nOptions for logins (OAuth), of all commands:\n");
    put_options(to, c, false, true);
}

void help_print(FILE *to, const command *c)
{
    usage(to, c);
    fprintf(to, "\n");
    help_wrap(to, c ? c->details : summary, 0, 0);
    if (!c) {
        help_wrap(to, explanation, 0, 0);
        fprintf(to, "\nCommands:\n");
        for (size_t i = 0; i < n_commands; i++)
            help_entry(to, commands[i].name, commands[i].summary, 25);
    }
    if (c && c->json)
        fprintf(to, "\nWith --json:\n  "), help_wrap(to, c->json, 2, 2);
    put_all_options(to, c);
    if (c)
        return;
    fprintf(to, "\nExit status:\n");
    for (size_t i = 0; i < COUNT(exits); i++) {
        char code[16];
        snprintf(code, sizeof(code), "%d", exits[i].code);
        help_entry(to, code, exits[i].text, 25);
    }
    fprintf(to, "\nExamples:\n");
    for (size_t i = 0; i < COUNT(examples); i++)
        fprintf(to, "  %s\n", examples[i]);
}

/* ---- the manual page ------------------------------------------------------------------------- */

void help_man(FILE *to)
{
    fprintf(to, ".\\\" Made by mcpctl --help-man.\n.TH MCPCTL 1 \"\" \"mcpctl %s\"\n",
            mcp_version());
    fputs(".SH NAME\nmcpctl \\- ", to);
    man_line(to, "use an MCP server from the command line");
    fputs(".SH SYNOPSIS\n\\fBmcpctl\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGS\\fR] "
          "\\fB\\-\\-\\fR \\fISERVER\\-COMMAND\\fR [\\fIARGS\\fR...]\n.br\n"
          "\\fBmcpctl\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGS\\fR] \\fB\\-s\\fR "
          "\\fINAME\\fR|\\fIURL\\fR\n.br\n"
          "\\fBmcpctl\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] \\fIURL\\fR [\\fIARGS\\fR]\n.SH "
          "DESCRIPTION\n",
          to);
    man_line(to, explanation);
    fputs(".SH COMMANDS\n", to);
    for (size_t i = 0; i < n_commands; i++) {
        fprintf(to, ".SS %s%s%s\n", commands[i].name, *commands[i].args ? " " : "",
                commands[i].args);
        man_line(to, commands[i].summary);
        fputs(".PP\n", to);
        man_line(to, commands[i].details);
        if (commands[i].json) {
            fputs(".PP\nWith \\-\\-json: ", to);
            man_line(to, commands[i].json);
        }
    }
    fputs(".SH OPTIONS\n", to);
    man_options(to, options, n_options);
    for (size_t i = 0; i < COUNT(sections); i++) {
        fprintf(to, ".SH %s\n", sections[i].title);
        man_line(to, sections[i].text);
    }
    fputs(".SH EXIT STATUS\n", to);
    for (size_t i = 0; i < COUNT(exits); i++) {
        fprintf(to, ".TP\n%d\n", exits[i].code);
        man_line(to, exits[i].text);
    }
    fputs(".PP\n", to);
    man_line(to, "If a signal ends mcpctl, the exit status is 128 plus its number.");
    fputs(".SH EXAMPLES\n.nf\n", to);
    for (size_t i = 0; i < COUNT(examples); i++)
        man_line(to, examples[i]);
    fputs(".fi\n.SH SEE ALSO\n\\fBmcpd\\fR(1)\n", to);
}

/* ---- completion scripts ---------------------------------------------------------------------- */

void help_completion(FILE *to, const char *shell)
{
    completion_command names[64];
    completion c = {
        .table = options,
        .count = n_options,
        .commands = names,
        .values_of = "server",
        .values = "mcpctl servers --quiet 2>/dev/null | cut -f 1",
    };
    for (; c.n_commands < n_commands && c.n_commands < COUNT(names); c.n_commands++)
        names[c.n_commands] =
            (completion_command){commands[c.n_commands].name, commands[c.n_commands].summary};
    completion_print(to, &c, shell);
}
