/* Access rules with generated requests: every template with its parameters in any order and
 * spelling, under random rules, through resources/read, the tools, prompts that embed resources,
 * lists, completion and subscriptions, also with sources in processes of their own. No answer may
 * show the mark of a hidden item, and every answer must have the marks of the visible ones. Changes
 * are announced to exactly those who may read what has changed. (The URIs of other servers are in
 * providers/upstream/test_uris.c.)
 *
 * MCP_ACCESS_URIS is the number of requests (default 10,000; a quarter of it on workers, with
 * PostgreSQL), MCP_ACCESS_SEED the random seed. For a million requests:
 *
 *     MCP_ACCESS_URIS=1000000 build/dev/tests/test_access_generated
 */
#define _GNU_SOURCE
#include "targets_postgres.h"

enum { PROMPTS = 30, PER_RULES = 20, PER_CHANNEL = 100 };

static peer p;
static uint64_t state_of_random;
static size_t asked, served, hidden, broken, challenged; /* of the run */

static uint32_t below(uint32_t n)
{
    state_of_random = state_of_random * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(state_of_random >> 33) % n;
}

static bool chance(uint32_t percent)
{
    return below(100) < percent;
}

/* ---- spelling -------------------------------------------------------------------------------- */

typedef struct spelled {
    char uri[2048];
    bool valid;      /* the URI names the whole target */
    bool has_params; /* a query was appended */
    bool renamed;    /* other parameters precede its query, so the URI may name something else */
    const target *t;
} spelled;

static char *put_encoded(char *to, char c)
{
    return to + sprintf(to, chance(50) ? "%%%02X" : "%%%02x", (unsigned char)c);
}

/* Encodes some characters as %XX, or changes the case of %XX, but keeps "/". */
static char *put_text(char *to, const char *text, size_t len, uint32_t percent)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '%') {
            for (size_t k = 0; k < 3; k++, i++)
                *to++ = (char)(chance(50) ? toupper((unsigned char)text[i])
                                          : tolower((unsigned char)text[i]));
            i--;
        } else if (text[i] != '/' && chance(percent)) {
            to = put_encoded(to, text[i]);
        } else {
            *to++ = text[i];
        }
    }
    return to;
}

/* Appends some of the parameters, in any order. */
static char *put_params(spelled *s, char *to, uint32_t percent)
{
    char all[256], *words[8], *save = NULL;
    size_t n = 0;
    bool some = s->t->method == NULL;
    snprintf(all, sizeof(all), "%s", s->t->params);
    for (char *w = strtok_r(all, " ", &save); w; w = strtok_r(NULL, " ", &save))
        words[n++] = w;
    for (size_t i = 0; i < n && some; i++) {
        size_t k = i + below((uint32_t)(n - i));
        char *swap = words[i];
        words[i] = words[k], words[k] = swap;
        if (!s->t->needed && chance(40))
            continue;
        char *equals = strchr(words[i], '=');
        *to++ = s->has_params ? '&' : '?';
        to = put_text(to, words[i], (size_t)(equals - words[i]), percent);
        *to++ = '=';
        to = put_text(to, equals + 1, strlen(equals + 1), percent);
        s->has_params = true;
    }
    return to;
}

static const char *const junk[] = {
    "#x.md",   "?",
    "&",       "?x=1",
    "&x=.md",  "/",
    "//",      "/x.md",
    ".md",     "%",
    "%zz",     "%00",
    "%2F",     "%2Fx.md",
    "/..",     "/%2e",
    "?=",      "?line=1&line=2",
    "&a=b",    "?%6cine",
    ";x=1",    "?after",
    "?a.md",   "?limit=.md",
    "%3Fx.md", "?offset=0&offset=0",
};

/* Appends parameters that may change the meaning of the URI or make it invalid. */
static char *put_junk(spelled *s, char *to)
{
    s->valid = false;
    s->renamed = true;
    if (chance(30)) { /* in the middle */
        size_t len = (size_t)(to - s->uri),
               at = s->t->fixed + below((uint32_t)(len - s->t->fixed + 1));
        const char *text = junk[below(COUNT(junk))];
        memmove(s->uri + at + strlen(text), s->uri + at, len - at);
        memcpy(s->uri + at, text, strlen(text));
        return to + strlen(text);
    }
    s->renamed = !s->has_params;
    return stpcpy(to, junk[below(COUNT(junk))]);
}

static void spell(spelled *s, const target *t)
{
    static const uint32_t percents[] = {0, 10, 50, 100};
    uint32_t percent = percents[below(COUNT(percents))];
    char *to = s->uri;
    *s = (spelled){.t = t, .valid = true};
    bool upper = chance(20), scheme = true;
    for (size_t i = 0; i < t->fixed; i++) {
        scheme = scheme && t->uri[i] != ':';
        *to++ = (char)(upper && scheme ? toupper((unsigned char)t->uri[i]) : t->uri[i]);
    }
    to = put_text(to, t->uri + t->fixed, strlen(t->uri + t->fixed), percent);
    to = put_params(s, to, percent);
    if (chance(25))
        to = put_junk(s, to);
    *to = 0;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static char globs[RULES][2 * NAME];

static void make_glob(char *to)
{
    static const char *const pool[] = {"**",
                                       "**/*.key",
                                       "**/*.md",
                                       "**.md",
                                       "**=.md",
                                       "**?**",
                                       "**/sub/**",
                                       "**/sub",
                                       "file://$T/docs/**",
                                       "file://$T/docs/sub/**",
                                       "git://app/**",
                                       "git://app/*/**",
                                       "git://app/v1/**",
                                       "git://app/HEAD/**",
                                       "git://app/-/**",
                                       "git://app/-/log/**",
                                       "git://app/-/diff/**",
                                       "git://app/-/commit/**",
                                       "git://app/*/secret.key",
                                       "git://app/*/",
                                       "sqlite://shop/**",
                                       "sqlite://shop/customer",
                                       "sqlite://shop/customer/**",
                                       "sqlite://shop/*/row/*",
                                       "postgres://mart/**",
                                       "postgres://mart/*",
                                       "postgres://mart/public/**",
                                       "postgres://mart/*/customer",
                                       "postgres://mart/public/customer/**",
                                       "postgres://mart/**/row/*",
                                       "postgres://mart/*/$function/**",
                                       "note:**",
                                       "notes:**",
                                       "notes:a/**",
                                       "**:**"};
    const target *t = &targets[below((uint32_t)n_targets)];
    uint32_t kind = below(10);
    if (kind < 6 || !*t->uri) {
        strcpy(to, pool[below(COUNT(pool))]);
    } else if (kind < 8) {
        strcpy(to, t->uri);
    } else {
        size_t len = below((uint32_t)strlen(t->uri) + 1);
        sprintf(to, "%.*s%s", (int)len, t->uri, kind == 8 ? "*" : "**");
    }
}

static void make_rules(void)
{
    rule these[RULES];
    size_t n = 1 + below(RULES - 1);
    for (size_t i = 0; i < n; i++) {
        make_glob(globs[i]);
        these[i] = (rule){chance(50) ? ALLOW : DENY, globs[i]};
        these[i].effect |= these[i].effect && chance(40) ? SCOPED : 0;
        these[i].effect |= chance(25) ? GROUPED : 0;
    }
    if (chance(40))
        these[0] = (rule){DENY, "**"};
    set_rules(&p, these, n);
}

static void say_rules(void)
{
    for (size_t i = 0; i < RULES && rules[i].glob; i++)
        print_error("%s %s%s%s\n", rules[i].effect & ALLOW ? "allow" : "deny", rules[i].glob,
                    rules[i].effect & SCOPED ? " scope" : "",
                    rules[i].effect & GROUPED ? " group" : "");
    print_error("caller: scope %d, group %d\n", asker.deep, asker.staff);
}

/* ---- the model ------------------------------------------------------------------------------- */

/* Lists also have what lacks a scope. */
static bool is_list(const target *t)
{
    return t->method && strcmp(t->method, "resources/list") == 0;
}

/* Tools that list names have it if they read such a list, and not if the source searches itself. */
static bool may_list(const target *t, const shown *s)
{
    bool names =
        t->method && (strstr(t->request, "list_resources") || strstr(t->request, "find_resources"));
    return names && listed(s->needs[0]);
}

static bool may_show(const target *t, const shown *s)
{
    if (is_list(t))
        return !*s->needs[0] || listed(s->needs[0]);
    return (!*t->uri || allowed(t->uri)) && (!*s->needs[0] || allowed(s->needs[0])) &&
           (!*s->needs[1] || allowed(s->needs[1])) && (!*s->needs[2] || allowed(s->needs[2]));
}

static void wrong(const spelled *s, const char *what, const char *mark)
{
    say_rules();
    fail_msg("%s %s %s\n%s\n%.2000s", s->t->request ? s->t->request : s->uri, what, mark, s->t->uri,
             p.reply);
}

/* A note has one canonical URI, made from the name in its mark. */
static bool may_note(const spelled *s, const char *mark)
{
    char uri[4096], *to = stpncpy(uri, s->t->uri, s->t->fixed);
    for (const char *at = mark + strlen("MARK(note:"); *at != ')'; at++) {
        bool bare = strchr("-._~:@!$&'()*+,;=[]", *at) || isalnum((unsigned char)*at) ||
                    (*at == '/' && s->t->fixed == strlen("notes:"));
        to = bare ? stpncpy(to, at, 1) : to + sprintf(to, "%%%02X", (unsigned char)*at);
    }
    *to = 0;
    return allowed(uri);
}

/* Checks that the answer has only marks of the target. */
static void check_foreign(const spelled *s)
{
    for (const char *at = p.reply; (at = strstr(at, "MARK(")) != NULL; at++) {
        bool own = strncmp(at, "MARK(note:", 10) == 0 && strncmp(s->t->uri, "note", 4) == 0 &&
                   may_note(s, at);
        for (size_t i = 0; i < s->t->n; i++)
            own = own || strncmp(at, s->t->shows[i].mark, strlen(s->t->shows[i].mark)) == 0;
        if (!own)
            wrong(s, "shows what is another's:", at);
    }
}

static void check_answer(const spelled *s)
{
    bool some = false;
    asked++;
    check_foreign(s);
    for (size_t i = 0; i < s->t->n; i++) {
        const shown *one = &s->t->shows[i];
        bool may = may_show(s->t, one), is = strstr(p.reply, one->mark) != NULL;
        if (is && !may && !may_list(s->t, one))
            wrong(s, "shows", one->mark);
        if (!is && may && s->valid)
            wrong(s, "lacks", one->mark);
        some = some || is;
    }
    served += some;
    broken += !s->valid;
    hidden += s->valid && !some;
    if (*s->t->uri && s->valid && !allowed(s->t->uri) && !strstr(p.reply, "rror"))
        wrong(s, "answers", "");
}

/* ---- ways to ask ----------------------------------------------------------------------------- */

static const char *(*ask_for)(peer *p, const char *method, const char *params);
static spelled embedded[PROMPTS];

static void ask_by_reading(const spelled *s)
{
    char params[2200];
    snprintf(params, sizeof(params), "\"uri\":\"%s\"", s->uri);
    ask_for(&p, READ, params);
    check_answer(s);
    bool lacks = s->valid && !allowed(s->t->uri) && listed(s->t->uri);
    if (lacks && !strstr(p.reply, "Insufficient scope"))
        wrong(s, "does not name the scope of", "");
    challenged += lacks;
}

static void ask_by_tool(const spelled *s)
{
    char params[2300];
    snprintf(params, sizeof(params), "\"name\":\"read_resource\",\"arguments\":{\"uri\":\"%s\"}",
             s->uri);
    ask_for(&p, CALL, params);
    check_answer(s);
}

static void ask_by_prompt(void)
{
    char params[64];
    uint32_t i = below(PROMPTS);
    snprintf(params, sizeof(params), "\"name\":\"p%u\"", i);
    ask_for(&p, "prompts/get", params);
    check_answer(&embedded[i]);
}

/* The acknowledgement names the accepted subscriptions; a hidden resource must be absent. */
static void ask_to_listen(const spelled *s)
{
    static int id = 100;
    char params[2300];
    snprintf(params, sizeof(params), "\"notifications\":{\"resourceSubscriptions\":[\"%s\"]}",
             s->uri);
    p.reply[0] = 0;
    peer_send(&p, id++, "subscriptions/listen", params);
    asked++;
    bool is = strstr(p.reply, s->uri) != NULL, may = allowed(s->t->uri);
    served += is;
    if (is && !may && !s->renamed)
        wrong(s, "is listened to", "");
    if (!is && may && s->valid)
        wrong(s, "is not listened to", "");
}

static void ask_one(void)
{
    static spelled s;
    const target *t = &targets[below((uint32_t)n_targets)];
    spell(&s, t);
    if (t->method) {
        s.valid = true;
        ask_for(&p, t->method, t->request);
        check_answer(&s);
    } else if (p.loop && chance(20)) {
        ask_to_listen(&s);
    } else if (chance(5)) {
        ask_by_prompt();
    } else if (chance(20)) {
        ask_by_tool(&s);
    } else {
        ask_by_reading(&s);
    }
}

static size_t number(const char *variable, size_t otherwise)
{
    const char *set = getenv(variable);
    return set ? strtoul(set, NULL, 10) : otherwise;
}

/* ---- announcements --------------------------------------------------------------------------- */

enum { BATCH = 40, ID = 1000 };

static spelled batch[BATCH];
static bool accepted[BATCH], announced[BATCH];
static size_t n_announced;

static void on_updated(mcp_str message)
{
    char quoted[2100];
    for (size_t i = 0; i < BATCH; i++) {
        snprintf(quoted, sizeof(quoted), "\"uri\":\"%.2047s\"", batch[i].uri);
        announced[i] |= memmem(message.ptr, message.len, quoted, strlen(quoted)) != NULL;
    }
}

static void say(const char *message)
{
    mcp_channel_receive(p.channel, 0, mcp_str_from(message), now());
}

/* Subscribes in one of both ways. Returns whether that was accepted. */
static bool subscribe(size_t i, bool legacy)
{
    static char text[2400];
    p.reply[0] = 0;
    if (legacy) {
        snprintf(text, sizeof(text),
                 "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"resources/subscribe\",\"params\":{"
                 "\"uri\":\"%.2047s\"}}",
                 ID + i, batch[i].uri);
        say(text);
        return strstr(p.reply, "\"result\":{}") != NULL;
    }
    snprintf(text, sizeof(text), "\"notifications\":{\"resourceSubscriptions\":[\"%.2047s\"]}",
             batch[i].uri);
    peer_send(&p, (int)(ID + i), "subscriptions/listen", text);
    return strstr(p.reply, "acknowledged") && !strstr(p.reply, "\"resourceSubscriptions\":[]");
}

static void subscribe_all(bool legacy)
{
    if (legacy) {
        say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
            "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\","
            "\"version\":\"1\"}}}");
        say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    }
    for (size_t i = 0; i < BATCH; i++) {
        do
            spell(&batch[i], &targets[below((uint32_t)n_targets)]);
        while (!*batch[i].t->uri || strncmp(batch[i].t->uri, "postgres", 8) == 0);
        asked++;
        accepted[i] = subscribe(i, legacy);
        bool may = allowed(batch[i].t->uri);
        if (accepted[i] && !may && !batch[i].renamed)
            wrong(&batch[i], "is accepted", "");
        if (!accepted[i] && may && batch[i].valid)
            wrong(&batch[i], "is not accepted", "");
    }
}

/* Changes all files, the branch, and all rows. */
static void change_all(void)
{
    char command[900];
    snprintf(
        command, sizeof(command),
        "cd %s; for f in docs/*.* docs/sub/*; do echo x >>\"$f\"; done; cd app; for f in *.* "
        "sub/*; do echo x >>$f; done; git commit -qam more; cd ..; for t in customer sale 'odd "
        "é'; do echo \"UPDATE \\\"$t\\\" SET word = word || ' ';\"; done | sqlite3 shop.db",
        top);
    assert_int_equal(system(command), 0);
}

/* Whether change_all() changes it, and its source notices. */
static bool changes(const target *t)
{
    const char *git[] = {"git://app/HEAD/", "git://app/main/"};
    bool file = strstr(t->uri, ".md") || strstr(t->uri, ".key") || strstr(t->uri, ".txt");
    for (size_t i = 0; i < COUNT(git); i++)
        if (strncmp(t->uri, git[i], strlen(git[i])) == 0)
            return file;
    if (strncmp(t->uri, "file:", 5) == 0)
        return file;
    return strncmp(t->uri, "sqlite:", 7) == 0 &&
           (strstr(t->uri, "/rows") || strstr(t->uri, "/row/") || strstr(t->uri, "/cell/"));
}

static bool is_due(size_t i)
{
    const spelled *s = &batch[i];
    return accepted[i] && s->valid && changes(s->t) && allowed(s->t->uri);
}

static void wait_for_all(void)
{
    size_t never = 0;
    bool missing = true;
    for (int64_t until = now() + 20000; missing && now() < until;) {
        missing = false;
        for (size_t i = 0; i < BATCH; i++)
            missing = missing || (is_due(i) && !announced[i]);
        run_until(&p, &never, 1, missing ? 20 : 60);
    }
}

/* Each resource is announced to those who may read it when it changes, and to nobody else. */
static void announce(bool apart)
{
    size_t never = 0;
    change_caller(&p, (caller){.deep = chance(50), .staff = below(3)});
    do
        make_rules();
    while (!allowed("git://app/HEAD/open.md") && chance(90)); /* mostly there is something to see */
    p.updated = on_updated;
    subscribe_all(chance(50));
    run_until(&p, &never, 1, apart ? 200 : 20);
    if (chance(60))
        make_rules();
    memset(announced, 0, sizeof(announced));
    change_all();
    wait_for_all();
    for (size_t i = 0; i < BATCH; i++) {
        n_announced += announced[i];
        if (announced[i] && !allowed(batch[i].t->uri) && !batch[i].renamed)
            wrong(&batch[i], "is announced", "");
        if (!announced[i] && is_due(i))
            wrong(&batch[i], "is not announced", "");
    }
}

static void announce_often(bool apart)
{
    size_t rounds = number("MCP_ACCESS_URIS", 10000) / 1000 + 1;
    n_announced = 0;
    for (size_t i = 0; i < rounds; i++)
        announce(apart);
    print_message("%zu rounds, %zu announced\n", rounds, n_announced);
    assert_true(n_announced > rounds);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Writes the prompt files once, with random spellings of the embedded URIs. */
static void write_prompts(void)
{
    char name[128];
    for (size_t i = 0; i < PROMPTS; i++) {
        do
            spell(&embedded[i], &targets[below((uint32_t)n_targets)]);
        while (embedded[i].t->method || !embedded[i].valid);
        snprintf(name, sizeof(name), "%s/prompts/p%zu.md", top, i);
        FILE *f = fopen(name, "w");
        assert_non_null(f);
        fprintf(f, "{{resource: %s}}\n", embedded[i].uri);
        fclose(f);
    }
}

static void run(size_t count)
{
    int64_t began = now();
    asked = served = hidden = broken = challenged = 0;
    for (size_t i = 0; i < count; i++) {
        if (i % PER_RULES == 0)
            make_rules();
        if (i % PER_CHANNEL == 0)
            change_caller(&p, (caller){.deep = chance(50), .staff = below(3)});
        ask_one();
    }
    print_message(
        "%zu asked for: %zu showed something, %zu nothing, %zu made no sense, %zu lacked a scope; "
        "%lld ms\n",
        asked, served, hidden, broken, challenged, (long long)(now() - began));
    assert_true(served > count / 10 && hidden > count / 10 && challenged > count / 500);
}

/* The PostgreSQL targets need a host. */
static void begin(mcp_loop *loop)
{
    size_t lists = add_targets();
    if (loop && has_database())
        add_mart(lists);
    write_prompts();
    open_world(&p, loop);
}

static void test_at_once(void **state)
{
    (void)state;
    ask_for = ask;
    begin(NULL);
    run(number("MCP_ACCESS_URIS", 10000));
    close_world(&p);
}

/* Runs with workers, PostgreSQL and subscriptions, all of which need a host. */
static void test_on_workers(void **state)
{
    (void)state;
    ask_for = ask_and_wait;
    begin(new_loop());
    if (!has_database())
        print_message("without PostgreSQL, which is not built or not installed\n");
    run(number("MCP_ACCESS_URIS", 10000) / 4);
    close_world(&p);
}

#define KEY(template, known) OF(template "/row{/key*}{?format}", "key", "", known)

/* Completion finds a visible value after any number of hidden ones. */
static void test_completion_behind_hidden(void **state)
{
    static const rule these[] = {{false, "**/many/row/*"}, {true, "**/many/row/150"}};
    static const char *const has[5] = {"\"values\":[\"150\"]", "\"total\":1,"};
    (void)state;
    open_world(&p, new_loop());
    set_rules(&p, these, COUNT(these));
    ask_and_wait(&p, "completion/complete", KEY("sqlite://shop/{table}", "\"table\":\"many\""));
    check_reply("sqlite", p.reply, has);
    ask_and_wait(&p, "completion/complete",
                 KEY(MART "{schema}/{table}", "\"schema\":\"public\",\"table\":\"many\""));
    if (has_database())
        check_reply("postgres", p.reply, has);
    close_world(&p);
}

/* With the repository and the database in processes of their own. */
static void test_apart(void **state)
{
    (void)state;
    ask_for = ask_and_wait;
    if (!open_world_apart(&p))
        skip();
    run(number("MCP_ACCESS_URIS", 10000) / 8);
    close_world(&p);
}

/* These are last, because they change what the targets show. */
static void test_announced(void **state)
{
    (void)state;
    open_world(&p, new_loop());
    announce_often(false);
    close_world(&p);
}

static void test_announced_apart(void **state)
{
    (void)state;
    if (!open_world_apart(&p))
        skip();
    announce_often(true);
    close_world(&p);
}

/* SQLite's error message about a view names the view's tables, so it must be hidden. */
static void test_words_are_kept(void **state)
{
    static const rule these[] = {{false, "sqlite://shop/gone"}};
    (void)state;
    open_world(&p, new_loop());
    set_rules(&p, these, COUNT(these));
    ask_and_wait(&p, READ, "\"uri\":\"sqlite://shop/broken/rows\"");
    check_reply("rows", p.reply, (const char *const[5]){"cannot be read now", "log", "!gone"});
    close_world(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_on_workers),
        cmocka_unit_test(test_completion_behind_hidden),
        cmocka_unit_test(test_words_are_kept),
        cmocka_unit_test(test_apart),
        cmocka_unit_test(test_announced),
        cmocka_unit_test(test_announced_apart),
    };
    state_of_random = number("MCP_ACCESS_SEED", 1);
    return run_in_world(tests, .script = generated_script, .database = mart_script);
}
