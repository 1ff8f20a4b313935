/* hosts.c: the table of hosts. Each row follows the host's own documentation. */
#define _GNU_SOURCE
#include "hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const known_host hosts[] = {
    {.name = "claude",
     .title = "Claude Code and Claude Desktop",
     .key = "mcpServers",
     .url = "url",
     .url_type = "http",
     .note = "Claude Code: merge it into .mcp.json in the project's folder.\n"
             "Claude Desktop: merge it into ~/.config/Claude/claude_desktop_config.json (on macOS\n"
             "~/Library/Application Support/Claude/), then restart it. It accepts no addresses."},
    {.name = "claude-code",
     .title = "Claude Code",
     .key = "mcpServers",
     .type = "stdio",
     .url = "url",
     .url_type = "http",
     .below = HOST_HERE,
     .file = ".mcp.json",
     .note = "This is for one project. For all projects:",
     .user_add = "claude mcp add --scope user"},
    {.name = "claude-desktop",
     .title = "Claude Desktop",
     .key = "mcpServers",
     .below = HOST_CONFIG,
     .file = "Claude/claude_desktop_config.json",
     .note = "On macOS it is in ~/Library/Application Support/Claude. Restart Claude Desktop."},
    {.name = "codex",
     .title = "Codex",
     .toml = true,
     .key = "mcp_servers",
     .url = "url",
     .below = HOST_HOME,
     .file = ".codex/config.toml",
     .variable = "CODEX_HOME"},
    {.name = "copilot",
     .title = "GitHub Copilot CLI",
     .key = "mcpServers",
     .type = "local",
     .more_key = "tools",
     .more_value = "[\"*\"]",
     .url = "url",
     .url_type = "http",
     .below = HOST_HOME,
     .file = ".copilot/mcp-config.json",
     .variable = "COPILOT_HOME"},
    {.name = "cursor",
     .title = "Cursor",
     .key = "mcpServers",
     .url = "url",
     .below = HOST_HOME,
     .file = ".cursor/mcp.json",
     .note = "For one project: .cursor/mcp.json in its folder."},
    {.name = "gemini",
     .title = "Gemini CLI",
     .key = "mcpServers",
     .url = "httpUrl",
     .below = HOST_HOME,
     .file = ".gemini/settings.json",
     .note = "For one project: .gemini/settings.json in its folder."},
    {.name = "kiro",
     .title = "Kiro",
     .key = "mcpServers",
     .url = "url",
     .below = HOST_HOME,
     .file = ".kiro/settings/mcp.json",
     .note = "For one project: .kiro/settings/mcp.json in its folder."},
    {.name = "lmstudio",
     .title = "LM Studio",
     .key = "mcpServers",
     .url = "url",
     .below = HOST_HOME,
     .file = ".lmstudio/mcp.json"},
    {.name = "opencode",
     .title = "opencode",
     .key = "mcp",
     .type = "local",
     .one_list = true,
     .more_key = "enabled",
     .more_value = "true",
     .url = "url",
     .url_type = "remote",
     .below = HOST_CONFIG,
     .file = "opencode/opencode.json",
     .note = "For one project: opencode.json in its folder."},
    {.name = "vscode",
     .title = "VS Code",
     .key = "servers",
     .type = "stdio",
     .url = "url",
     .url_type = "http",
     .below = HOST_CONFIG,
     .file = "Code/User/mcp.json",
     .note = "The command \"MCP: Open User Configuration\" shows it. For one workspace: "
             ".vscode/mcp.json in its folder."},
    {.name = "windsurf",
     .title = "Windsurf",
     .key = "mcpServers",
     .url = "serverUrl",
     .below = HOST_HOME,
     .file = ".codeium/windsurf/mcp_config.json"},
    {.name = "zed",
     .title = "Zed",
     .key = "context_servers",
     .more_key = "source",
     .more_value = "\"custom\"",
     .more_of_commands = true,
     .url = "url",
     .below = HOST_CONFIG,
     .file = "zed/settings.json"},
};

const known_host *host_find(const char *name)
{
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
        if (strcmp(hosts[i].name, name) == 0)
            return &hosts[i];
    return NULL;
}

char *host_file(const known_host *h)
{
    const char *folder = h->variable ? getenv(h->variable) : NULL, *file = h->file, *below = "";
    char *path = NULL;
    if (folder && *folder) {
        file = strrchr(file, '/') + 1;
    } else if (h->below == HOST_HERE) {
        return strdup(file);
    } else {
        folder = h->below == HOST_CONFIG ? getenv("XDG_CONFIG_HOME") : NULL;
        if (!folder || !*folder) {
            folder = getenv("HOME");
            below = h->below == HOST_CONFIG ? "/.config" : "";
        }
    }
    if (!file || !folder || !*folder || asprintf(&path, "%s%s/%s", folder, below, file) < 0)
        return NULL;
    return path;
}

char *host_usual_file(const known_host *h)
{
    char *path = NULL;
    if (h->below == HOST_NOWHERE)
        return NULL;
    if (h->below == HOST_HERE)
        return strdup(h->file);
    return asprintf(&path, "~/%s%s", h->below == HOST_CONFIG ? ".config/" : "", h->file) < 0 ? NULL
                                                                                             : path;
}
