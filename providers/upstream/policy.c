/* policy.c: see policy.h. */
#include "policy.h"

#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "uris.h"

int upstream_invalid(mcp_error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (error) {
        error->code = MCP_EINVAL;
        vsnprintf(error->text, sizeof(error->text), format, args);
    }
    va_end(args);
    return MCP_EINVAL;
}

/* ---- names and texts ------------------------------------------------------------------------- */

const mcp_upstream_change *upstream_change_of(const mcp_upstream_options *o, mcp_item item,
                                              mcp_str original)
{
    for (size_t i = 0; i < o->n_changes; i++)
        if (o->changes[i].item == item &&
            mcp_str_eq(mcp_str_from(o->changes[i].original), original))
            return &o->changes[i];
    return NULL;
}

const mcp_upstream_change *upstream_change_to(const mcp_upstream_options *o, mcp_item item,
                                              mcp_str name)
{
    for (size_t i = 0; i < o->n_changes; i++)
        if (o->changes[i].item == item && o->changes[i].name &&
            mcp_str_eq(mcp_str_from(o->changes[i].name), name))
            return &o->changes[i];
    return NULL;
}

bool upstream_changes_copy(mcp_upstream_options *o, const mcp_allocator *alloc)
{
    size_t n = o->n_changes;
    const mcp_upstream_change *given = o->changes;
    mcp_upstream_change *made = n ? common_alloc(alloc, n * sizeof(*made)) : NULL;
    o->changes = made;
    o->n_changes = made ? n : 0;
    bool ret = made || !n;
    for (size_t i = 0; i < o->n_changes; i++) {
        made[i] = given[i];
        bool original = common_own_text(alloc, &made[i].original),
             name = common_own_text(alloc, &made[i].name),
             title = common_own_text(alloc, &made[i].title),
             description = common_own_text(alloc, &made[i].description);
        ret = original && name && title && description && ret;
    }
    return ret;
}

void upstream_changes_free(mcp_upstream_options *o, const mcp_allocator *alloc)
{
    for (size_t i = 0; i < o->n_changes; i++) {
        const mcp_upstream_change *c = &o->changes[i];
        const char *const texts[] = {c->original, c->name, c->title, c->description};
        for (size_t j = 0; j < sizeof(texts) / sizeof(*texts); j++)
            common_release(alloc, (void *)(uintptr_t)texts[j]);
    }
    common_release(alloc, (void *)(uintptr_t)o->changes);
    o->changes = NULL;
    o->n_changes = 0;
}

/* ---- what is offered ------------------------------------------------------------------------- */

/* "*" matches any text. The time is bounded by the product of the lengths. */
static bool matches(const char *pattern, mcp_str text)
{
    const char *star = NULL;
    size_t i = 0, from = 0;
    while (i < text.len) {
        if (*pattern == '*') {
            star = ++pattern;
            from = i;
        } else if (*pattern == text.ptr[i]) {
            pattern++;
            i++;
        } else if (star) {
            pattern = star;
            i = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

static bool is_among(const char *const *patterns, mcp_str text)
{
    while (*patterns && !matches(*patterns, text))
        patterns++;
    return *patterns != NULL;
}

/* The other server may ignore a query, and anybody can add one to a URI. So what is hidden is compared
 * with and without it, and what is offered without it. */
static bool allows_uri(const mcp_upstream_options *o, mcp_item item, mcp_str original)
{
    mcp_str path = upstream_uri_path(item, original);
    bool template = item == MCP_ITEM_TEMPLATE; /* callers do not make up its text */
    bool offered = !o->only_resources || is_among(o->only_resources, path) ||
                   (template && is_among(o->only_resources, original));
    return offered && !(o->hide_resources && (is_among(o->hide_resources, path) ||
                                              is_among(o->hide_resources, original)));
}

bool upstream_allows(const mcp_upstream_options *o, mcp_item item, mcp_str original,
                     const mcp_allocator *alloc)
{
    bool tool = item == MCP_ITEM_TOOL, prompt = item == MCP_ITEM_PROMPT;
    const char *const *only = tool ? o->only_tools : o->only_prompts;
    const char *const *hide = tool ? o->hide_tools : o->hide_prompts;
    if (!tool && !prompt)
        return upstream_uri_exists(item, original, alloc) && allows_uri(o, item, original);
    return (!only || is_among(only, original)) && !(hide && is_among(hide, original));
}

/* ---- rates ----------------------------------------------------------------------------------- */

bool upstream_rates_copy(mcp_upstream_options *o, const mcp_allocator *alloc)
{
    size_t n = o->n_rates;
    const mcp_upstream_rate *given = o->rates;
    mcp_upstream_rate *made = n ? common_alloc(alloc, n * sizeof(*made)) : NULL;
    bool ret = made || !n;
    o->rates = made;
    o->n_rates = made ? n : 0;
    for (size_t i = 0; i < o->n_rates; i++) {
        made[i] = given[i];
        ret = common_own_texts(alloc, &made[i].tools) && ret;
    }
    return ret;
}

void upstream_rates_free(mcp_upstream_options *o, const mcp_allocator *alloc)
{
    for (size_t i = 0; i < o->n_rates; i++)
        common_free_texts(alloc, o->rates[i].tools);
    common_release(alloc, (void *)(uintptr_t)o->rates);
    o->rates = NULL;
    o->n_rates = 0;
}

bool upstream_rate_counts(const mcp_upstream_rate *rate, mcp_item item, mcp_str original)
{
    return !rate->tools || (item == MCP_ITEM_TOOL && is_among(rate->tools, original));
}

/* ---- the options of a source ----------------------------------------------------------------- */

/* Adds the changes to an object with items by their original names. */
static bool add_changes(mcp_upstream_change *to, size_t *n, const mcp_json *object, mcp_item item)
{
    mcp_json_iter it = {0};
    mcp_str key;
    for (const mcp_json *v; (v = mcp_json_next(object, &it, &key)) != NULL;) {
        if (*n == (size_t)2 * UPSTREAM_MOST_WORDS)
            return false;
        to[(*n)++] = (mcp_upstream_change){
            .item = item,
            .original = key.ptr,
            .name = mcp_json_string(mcp_json_get(v, "name")).ptr,
            .title = mcp_json_string(mcp_json_get(v, "title")).ptr,
            .description = mcp_json_string(mcp_json_get(v, "description")).ptr,
            .call_ms = (uint64_t)mcp_json_int(mcp_json_get(v, "call_ms"), 0),
        };
    }
    return true;
}

/* Copies the strings of an array, which end with NULL. */
static bool add_texts(const char **to, const mcp_json *array)
{
    mcp_json_iter it = {0};
    size_t n = 0;
    for (const mcp_json *v; (v = mcp_json_next(array, &it, NULL)) != NULL;) {
        if (n == UPSTREAM_MOST_WORDS)
            return false;
        to[n++] = mcp_json_string(v).ptr;
    }
    to[n] = NULL;
    return true;
}

static bool add_rates(upstream_policy *policy, const mcp_json *array, size_t *n)
{
    mcp_json_iter it = {0};
    for (const mcp_json *v; (v = mcp_json_next(array, &it, NULL)) != NULL; ++*n) {
        const mcp_json *tools = mcp_json_get(v, "tools");
        if (*n == UPSTREAM_MOST_RATES || !add_texts(policy->rate_tools[*n], tools))
            return false;
        policy->rates[*n] = (mcp_upstream_rate){
            .tools = tools ? policy->rate_tools[*n] : NULL,
            .per_minute = (uint32_t)mcp_json_int(mcp_json_get(v, "per_minute"), 0),
            .burst = (uint32_t)mcp_json_int(mcp_json_get(v, "burst"), 0),
        };
    }
    return true;
}

int upstream_policy_read(upstream_policy *policy, const mcp_json *options, mcp_upstream_options *o,
                         mcp_error *error)
{
    static const char *const names[] = {"only_tools",   "hide_tools",     "only_prompts",
                                        "hide_prompts", "only_resources", "hide_resources"};
    const char *const **const to[] = {&o->only_tools,   &o->hide_tools,     &o->only_prompts,
                                      &o->hide_prompts, &o->only_resources, &o->hide_resources};
    bool fits = true;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const mcp_json *list = mcp_json_get(options, names[i]);
        fits = add_texts(policy->lists[i], list) && fits;
        *to[i] = list ? policy->lists[i] : NULL;
    }
    o->changes = policy->changes;
    o->n_changes = 0;
    fits = add_changes(policy->changes, &o->n_changes, mcp_json_get(options, "tools"),
                       MCP_ITEM_TOOL) &&
           fits;
    fits = add_changes(policy->changes, &o->n_changes, mcp_json_get(options, "prompts"),
                       MCP_ITEM_PROMPT) &&
           fits;
    o->rates = policy->rates;
    o->n_rates = 0;
    fits = add_rates(policy, mcp_json_get(options, "rates"), &o->n_rates) && fits;
    return fits ? MCP_OK : upstream_invalid(error, "too many words");
}
