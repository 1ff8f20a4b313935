/* access_do.c: who may change what, by the same rules as access.c.
 *
 * The last rule that matches decides, and without one the answer is no. Whatever is not known counts
 * as it restricts most: a rule that may not be about the caller takes away, and never gives.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "access_rules.h"

static const char *const words[] = {
    [MCP_OPERATION_READ] = "read",     [MCP_OPERATION_CALL] = "call",
    [MCP_OPERATION_CREATE] = "create", [MCP_OPERATION_CHANGE] = "change",
    [MCP_OPERATION_MOVE] = "move",     [MCP_OPERATION_DELETE] = "delete",
    [MCP_OPERATION_COMMIT] = "commit"};

const char *access_operation_word(int operation)
{
    return words[operation];
}

/* ---- deciding -------------------------------------------------------------------------------- */

static mcp_effect least(mcp_effect a, mcp_effect b)
{
    return a < b ? a : b;
}

/* Whether the rule names the thing itself. As in access_covers(), a query gives nothing. */
static bool names_it(const access_rule *r, unsigned item, mcp_str name)
{
    const char *query = NULL;
    if (item == MCP_ITEM_RESOURCE && name.len)
        query = memchr(name.ptr, '?', name.len);
    mcp_str path = {name.ptr, query ? (size_t)(query - name.ptr) : name.len};
    return globs_name(&r->what[item], path);
}

/* What the rule says about the thing. *says is false if that is nothing. With `exact`, a rule with a
 * star gives nothing, but it takes away; what changes something gets at most a question then. */
static mcp_effect effect_on(const access_rule *r, const mcp_identity *identity,
                            mcp_operation operation, unsigned item, mcp_str name, bool exact,
                            bool *says)
{
    bool seeing = ACCESS_SEEING & ACCESS_BIT(operation);
    mcp_effect effect = access_effect(r, identity);
    *says = access_covers(r, item, name);
    if (!exact || effect == MCP_EFFECT_DENY)
        return effect;
    *says = *says && names_it(r, item, name);
    return seeing ? effect : least(effect, MCP_EFFECT_ASK);
}

mcp_effect access_may_do(const mcp_identity *identity, mcp_operation operation, mcp_item item,
                         mcp_str name, unsigned flags, void *user)
{
    const access_rules *rules = user;
    mcp_effect most = MCP_EFFECT_ALLOW;
    if ((flags & ~MCP_MAY_EXACT) || (unsigned)operation > MCP_OPERATION_COMMIT ||
        !access_in_view(rules, identity, item, name))
        return MCP_EFFECT_DENY;
    for (size_t i = rules->count; i > 0; i--) {
        const access_rule *r = &rules->items[i - 1];
        bool says = false;
        if (!(r->operations & ACCESS_BIT(operation)))
            continue;
        mcp_effect effect =
            effect_on(r, identity, operation, item, name, flags & MCP_MAY_EXACT, &says);
        truth about = says ? access_is_about(r, identity) : NO;
        if (about == NO)
            continue;
        most = least(most, effect);
        if (about == YES || most == MCP_EFFECT_DENY)
            return most;
    }
    return MCP_EFFECT_DENY;
}

/* ---- what a source grants -------------------------------------------------------------------- */

const char access_write_needs[] = "write is about a folder whose path has no *: name the folder of "
                                  "a file, and rename one with a *";

static bool can_be_named(const char *folder)
{
    struct stat st;
    return !strchr(folder, '*') && (stat(folder, &st) < 0 || S_ISDIR(st.st_mode));
}

int access_read_write(access_rule *r, const char *folder, const char *below)
{
    char *real = realpath(folder, NULL);
    bool possible = can_be_named(folder) && (!real || can_be_named(real));
    free(real);
    if (!possible)
        return MCP_EINVAL;
    r->effect = MCP_EFFECT_ALLOW;
    r->operations = ACCESS_BIT(MCP_OPERATION_CREATE) | ACCESS_BIT(MCP_OPERATION_CHANGE) |
                    ACCESS_BIT(MCP_OPERATION_MOVE) | ACCESS_BIT(MCP_OPERATION_DELETE);
    r->principals.given = true;
    r->has[MCP_ITEM_RESOURCE] = true;
    int rc = globs_add(&r->principals.names, MCP_STR("stdio"));
    return rc == MCP_OK ? globs_add_below(&r->what[MCP_ITEM_RESOURCE], folder, below) : rc;
}

/* ---- for --doctor ---------------------------------------------------------------------------- */

static void put_operations(FILE *to, unsigned set)
{
    bool first = true;
    for (int k = MCP_OPERATION_CREATE; k <= MCP_OPERATION_COMMIT; k++)
        if (set & ACCESS_BIT(k))
            fprintf(to, "%s%s", first ? "" : ", ", words[k]), first = false;
}

/* Returns whether b is "a/" followed by two stars: a path and what is below it. */
static bool is_below(const char *a, const char *b)
{
    size_t len = strlen(a), slash = len && a[len - 1] == '/' ? 0 : 1;
    return strncmp(a, b, len) == 0 && strcmp(b + len + slash, "**") == 0;
}

static void put_globs(FILE *to, const globs *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *text = list->items[i].text;
        size_t len = strlen(text);
        bool both = i + 1 < list->count && is_below(text, list->items[i + 1].text);
        bool below = !both && len > 3 && list->items[i].literal == len - 2 && text[len - 3] == '/';
        fputs(i ? ", " : " ", to);
        if (below)
            fprintf(to, "below %.*s", (int)len - 3, text);
        else
            fprintf(to, "%s%s", text, both ? " and below it" : "");
        i += both;
    }
}

static void put_things(FILE *to, const access_rule *r)
{
    static const char *const kinds[ACCESS_ITEMS] = {[MCP_ITEM_TEMPLATE] = " templates",
                                                    [MCP_ITEM_PROMPT] = " prompts",
                                                    [MCP_ITEM_TOOL] = " tools"};
    fputs(r->everything ? " everything" : "", to);
    for (size_t k = 0; k < ACCESS_ITEMS; k++) {
        if (r->has[k])
            fputs(kinds[k] ? kinds[k] : "", to), put_globs(to, &r->what[k]);
    }
}

/* Writes "may change, delete below file:///a (allow)". */
static char *line_of(const access_rule *r, mcp_effect effect, truth about)
{
    static const char *const effects[] = {"deny", "ask", "allow"};
    char *line = NULL;
    size_t size;
    FILE *to = open_memstream(&line, &size);
    if (!to)
        return NULL;
    fputs(effect == MCP_EFFECT_DENY ? "may not " : "may ", to);
    put_operations(to, r->operations);
    put_things(to, r);
    fprintf(to, " (%s%s%s%s)", effects[effect],
            effect == MCP_EFFECT_DENY && r->scopes ? ": the token lacks " : "",
            effect == MCP_EFFECT_DENY && r->scopes ? r->scopes : "",
            about == UNKNOWN ? ", if the rule is about this caller, which its token does not say"
                             : "");
    if (fclose(to) == 0)
        return line;
    free(line);
    return NULL;
}

bool access_tell_changes(const access_rules *rules, const mcp_identity *identity,
                         void (*tell)(const char *line, void *user), void *user)
{
    bool any = false;
    for (size_t i = 0; rules && i < rules->count; i++) {
        const access_rule *r = &rules->items[i];
        truth about = r->operations & ~ACCESS_SEEING ? access_is_about(r, identity) : NO;
        mcp_effect effect = access_effect(r, identity);
        if (about == NO || (about == UNKNOWN && effect != MCP_EFFECT_DENY))
            continue;
        char *line = line_of(r, effect, about);
        any = any || effect != MCP_EFFECT_DENY;
        tell(line ? line : "out of memory", user);
        free(line);
    }
    return any;
}

bool access_rule_grants(const access_rule *r)
{
    return r->effect != MCP_EFFECT_DENY && (r->operations & ~ACCESS_SEEING);
}

bool access_grants_any(const access_rules *rules)
{
    for (size_t i = 0; rules && i < rules->count; i++)
        if (access_rule_grants(&rules->items[i]))
            return true;
    return false;
}

bool access_grants(const access_rules *rules, const mcp_identity *identity)
{
    for (size_t i = 0; rules && i < rules->count; i++) {
        const access_rule *r = &rules->items[i];
        if (access_rule_grants(r) && access_effect(r, identity) != MCP_EFFECT_DENY &&
            access_is_about(r, identity) == YES)
            return true;
    }
    return false;
}
