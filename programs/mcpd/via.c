/* via.c: how a host starts mcpd: by its path, or by a program that runs a package or an image of it. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <common/text.h>

#include "entry.h"
#include "source_write.h"

/* The names of its packages (packaging/names.json). */
extern const char package_npm[], package_pypi[], package_image[];

/* Returns the path of this program, which the entry contains because the host's PATH may differ. */
static char *own_path(void)
{
    char *path = malloc(PATH_MAX);
    ssize_t len = path ? readlink("/proc/self/exe", path, PATH_MAX - 1) : -1;
    if (len < 0) {
        free(path);
        return strdup("mcpd");
    }
    path[len] = 0;
    return path;
}

static bool add_all(entry *e, const char *const *words)
{
    bool ok = true;
    for (; ok && *words; words++)
        ok = entry_add_word(e, strdup(*words));
    return ok;
}

/* NAME@VERSION as npm ("0.2.0-rc.1"), PyPI ("0.2.0rc1") and registries of images write it. */
static char *with_version(const char *name, char at, const char *mark)
{
    const char *version = mcp_version(), *candidate = strstr(version, "~rc");
    char *text = NULL;
    int base = candidate ? (int)(candidate - version) : (int)strlen(version);
    if (asprintf(&text, "%s%c%.*s%s%s", name, at, base, version, candidate ? mark : "",
                 candidate ? candidate + strlen("~rc") : "") < 0)
        return NULL;
    return text;
}

static bool add_npx(entry *e)
{
    static const char *const words[] = {"npx", "-y", NULL};
    return add_all(e, words) && entry_add_word(e, with_version(package_npm, '@', "-rc."));
}

static bool add_uvx(entry *e)
{
    return entry_add_word(e, strdup("uvx")) &&
           entry_add_word(e, with_version(package_pypi, '@', "rc"));
}

/* A host on Windows starts a program of this distribution. Without -e, a shell would read the words. */
static bool add_wsl(entry *e)
{
    static const char *const begin[] = {"wsl.exe", NULL};
    const char *name = getenv("WSL_DISTRO_NAME");
    bool ok = add_all(e, begin);
    if (ok && name && *name)
        ok = entry_add_word(e, strdup("-d")) && entry_add_word(e, strdup(name));
    return ok && entry_add_word(e, strdup("-e")) && entry_add_word(e, own_path());
}

/* ---- docker ---------------------------------------------------------------------------------- */

/* Makes a folder or file visible at the same path, so that URIs are those of this machine. */
static bool add_mount(entry *e, const char *path, bool write)
{
    char *text = NULL;
    if (strchr(path, ',') || strchr(path, '"')) {
        say("docker cannot be given the path %s, because of its comma or quote", path);
        return false;
    }
    if (asprintf(&text, "type=bind,source=%s,target=%s%s", path, path, write ? "" : ",readonly") <
        0)
        text = NULL;
    return entry_add_word(e, strdup("--mount")) && entry_add_word(e, text);
}

static bool add_mount_of(entry *e, const char *path, bool write)
{
    char *whole = path ? absolute_path(path) : NULL;
    bool ok = !path || (whole && add_mount(e, whole, write));
    free(whole);
    return ok;
}

/* The path of a module's source: "git:/srv/lib?name=lib", or the folder of "sqlite:/srv/shop.db". */
static bool add_mount_of_module(entry *e, const char *text, modules *m)
{
    char *whole = modules_absolute(m, text, NULL);
    char *path = whole ? strchr(whole, ':') : NULL;
    bool ok = path != NULL;
    if (ok) {
        path++;
        path[strcspn(path, "?")] = 0;
        char *slash = strncmp(whole, "sqlite:", 7) == 0 ? strrchr(path, '/') : NULL;
        if (slash) /* the files beside a database belong to it */
            slash[slash == path] = 0;
        ok = add_mount(e, path, false);
    }
    free(whole);
    return ok;
}

static bool is_of(const source *s, const char *module)
{
    return strncmp(s->text, module, strlen(module)) == 0;
}

static bool add_docker(entry *e, const settings *line, modules *m)
{
    static const char *const begin[] = {"docker",
                                        "run",
                                        "-i",
                                        "--rm",
                                        "--cap-drop",
                                        "ALL",
                                        "--security-opt",
                                        "no-new-privileges",
                                        "--read-only",
                                        NULL};
    static const char *const alone[] = {"--network", "none", NULL};
    bool ok = add_all(e, begin), is_remote = false;
    if (line->servers.count || line->modules.count) {
        say("the image has no programs of other servers and no modules of your own: "
            "--via docker goes without --servers and --module");
        return false;
    }
    for (size_t i = 0; ok && i < line->sources.count; i++)
        is_remote = is_remote || is_of(&line->sources.items[i], "postgres:") ||
                    is_of(&line->sources.items[i], "mcp:");
    if (ok && !is_remote)
        ok = add_all(e, alone);
    ok = ok && add_mount_of(e, line->config, false) && add_mount_of(e, line->prompts, false);
    for (size_t i = 0; ok && i < line->sources.count; i++) {
        const source *s = &line->sources.items[i];
        if (!source_is_module(s))
            ok = add_mount_of(e, s->text, source_write_any(s));
        else if (is_of(s, "git:") || is_of(s, "sqlite:"))
            ok = add_mount_of_module(e, s->text, m);
    }
    return ok && entry_add_word(e, with_version(package_image, ':', "-rc."));
}

bool via_add(entry *e, const settings *line, modules *m)
{
    const char *via = line->via ? line->via : "path";
    if (strcmp(via, "npx") == 0)
        return add_npx(e);
    if (strcmp(via, "uvx") == 0)
        return add_uvx(e);
    if (strcmp(via, "docker") == 0)
        return add_docker(e, line, m);
    if (strcmp(via, "wsl") == 0)
        return add_wsl(e);
    return entry_add_word(e, own_path());
}
