/* passwords.c: removes passwords from connection strings before they are printed or sent.
 *
 * It also handles invalid input that people type: the rest of a password that should have been
 * quoted or encoded is removed too.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <string.h>

#include "modules.h"

/* Returns the end of words that are not "key = value", which are the rest of a password that should
 * have been quoted. */
static char *stray_words(char *p)
{
    for (;;) {
        char *word = p + strspn(p, " "), *after = word + strcspn(word, " =?");
        if (after == word || after[strspn(after, " ")] == '=')
            return p;
        p = after;
    }
}

/* Finds "password=…", quoted or not; *end is the end of its value. Returns NULL at the end. */
static char *find_password(char *from, char **end)
{
    char *word = strstr(from, "password"), *p = word ? word + strlen("password") : NULL;
    if (!word)
        return NULL;
    p += strspn(p, " ");
    if (*p != '=')
        return find_password(word + 1, end);
    p += 1 + strspn(p + 1, " ");
    bool quoted = *p == '\'';
    for (p += quoted; *p && (quoted ? *p != '\'' : !strchr(" ?", *p)); p++)
        p += *p == '\\' && p[1];
    *end = stray_words(p + (quoted && *p));
    while (word > from && isalnum((unsigned char)word[-1]))
        word--;
    return word;
}

/* Also removes the password of a URI, "//user:password@host", up to the last "@", because
 * characters before it may not have been encoded. */
void modules_remove_passwords(char *text)
{
    char *end;
    for (char *at = text; (at = find_password(at, &end)) != NULL;)
        memmove(at, end, strlen(end) + 1);
    char *user = strstr(text, "//");
    if (!user)
        return;
    user += 2;
    char *host = memrchr(user, '@', strcspn(user, "?"));
    char *colon = host ? memchr(user, ':', (size_t)(host - user)) : NULL;
    if (colon)
        memmove(colon, host, strlen(host) + 1);
}
