/* source_write.c: see source_write.h. */
#include "source_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/uri.h>

#define PARAMETER "write="

enum { LONGEST = 1024 };

size_t source_write_path(const char *word)
{
    const char *at = strstr(word, "?" PARAMETER);
    return at ? (size_t)(at - word) : strlen(word);
}

bool source_write_any(const source *s)
{
    return s->writes || s->write;
}

/* ---- one glob -------------------------------------------------------------------------------- */

/* A component that no URI of a file has, or that leads out of the folder. */
static const char *wrong_component(const char *at, size_t len)
{
    if (len == 0)
        return "it begins with a slash or has two of them: a glob of write is relative to its "
               "folder, such as notes/**";
    if (len == 2 && at[0] == '.' && at[1] == '.')
        return "it leaves the folder with ..: name the other folder as a source of its own";
    if (len == 1 && at[0] == '.')
        return "leave out the component \".\"";
    return NULL;
}

/* Returns why the text is no glob below a folder, or NULL. */
static const char *why_wrong(const char *glob)
{
    const char *why = NULL;
    if (!*glob)
        return "name what may be written: ** for everything, notes/** for a folder";
    if (strlen(glob) > LONGEST)
        return "longer than 1024 bytes";
    for (const char *at = glob; !why && *at;) {
        size_t len = strcspn(at, "/");
        why = wrong_component(at, len);
        at += len;
        at += *at == '/';
    }
    return why;
}

typedef struct visit {
    source_write_each *each;
    source_write_wrong *wrong;
    void *user;
} visit;

static int refuse(const visit *v, const char *pointer, const char *why)
{
    v->wrong(pointer, why, v->user);
    return MCP_EINVAL;
}

static int visit_glob(const visit *v, mcp_str text, const char *pointer)
{
    if (text.len && memchr(text.ptr, 0, text.len))
        return refuse(v, pointer, "it contains a NUL character");
    char *glob = malloc(text.len + 1);
    if (!glob)
        return MCP_ENOMEM;
    memcpy(glob, text.len ? text.ptr : "", text.len);
    glob[text.len] = 0;
    const char *why = why_wrong(glob);
    int rc = why ? refuse(v, pointer, why) : v->each(glob, pointer, v->user);
    free(glob);
    return rc;
}

/* ---- all globs ------------------------------------------------------------------------------- */

static int visit_list(const visit *v, const mcp_json *list)
{
    char pointer[48];
    int rc = MCP_OK;
    mcp_json_iter it = {0};
    if (mcp_json_is(list, MCP_JSON_STRING))
        return visit_glob(v, mcp_json_string(list), "/write");
    for (const mcp_json *one; rc == MCP_OK && (one = mcp_json_next(list, &it, NULL)) != NULL;) {
        snprintf(pointer, sizeof(pointer), "/write/%zu", it.index - 1);
        rc = visit_glob(v, mcp_json_string(one), pointer);
    }
    return rc;
}

/* Values are percent-encoded where necessary, as in the words of modules. */
static int visit_word(const visit *v, const char *value, size_t len)
{
    char *text = malloc(len + 1);
    if (!text)
        return MCP_ENOMEM;
    int rc = mcp_uri_decode((mcp_str){value, len}, text, len, &len) == MCP_OK
                 ? visit_glob(v, (mcp_str){text, len}, "")
                 : refuse(v, "", "it has a % that two hexadecimal digits do not follow; write %25");
    free(text);
    return rc;
}

static int visit_words(const visit *v, const char *words)
{
    int rc = MCP_OK;
    while (rc == MCP_OK && *words) {
        size_t len = strcspn(words, "&"), name = strlen(PARAMETER);
        if (strncmp(words, PARAMETER, name) != 0)
            return refuse(v, "", "a folder has only the parameter write; write & as %26");
        rc = visit_word(v, words + name, len - name);
        words += len;
        words += *words == '&';
    }
    return rc;
}

int source_write_globs(const source *s, source_write_each *each, source_write_wrong *wrong,
                       void *user)
{
    const visit v = {each, wrong, user};
    int rc = s->writes ? visit_words(&v, s->writes) : MCP_OK;
    return rc == MCP_OK && s->write ? visit_list(&v, s->write) : rc;
}
