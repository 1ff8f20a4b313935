/* pass.h: converts results of another server to the revision of a peer; see pass.c. */
#ifndef MCP_SRC_PASS_H
#define MCP_SRC_PASS_H

#include "protocol/contents.h"

/* The kind of object that a text contains. */
typedef enum mcp__pass_shape {
    MCP__PASS_ANY = 0, /* any value; copied unchanged */
    MCP__PASS_READ,    /* results, from here to MCP__PASS_OTHER */
    MCP__PASS_CALL,
    MCP__PASS_GET,
    MCP__PASS_COMPLETE,
    MCP__PASS_OTHER,
    MCP__PASS_RESOURCE, /* entries of lists, from here to MCP__PASS_TOOL */
    MCP__PASS_TEMPLATE,
    MCP__PASS_PROMPT,
    MCP__PASS_TOOL,
    MCP__PASS_ERROR_DATA,
    MCP__PASS_URL_DATA, /* of error -32042 */
    MCP__PASS_PROGRESS,
    MCP__PASS_ELICIT, /* the params of questions, from here to MCP__PASS_ROOTS */
    MCP__PASS_SAMPLE,
    MCP__PASS_ROOTS,
    MCP__PASS_ANSWER,   /* the result of a question */
    MCP__PASS_CONTENTS, /* objects within the above */
    MCP__PASS_BLOCK,
    MCP__PASS_MESSAGE,
    MCP__PASS_COMPLETION,
    MCP__PASS_ARGUMENT,
    MCP__PASS_ANNOTATIONS,
    MCP__PASS_TOOL_META,
    MCP__PASS_UI,
    MCP__PASS_NOTICE_META,
    MCP__PASS_LOG,
} mcp__pass_shape;

/* The kinds of names, with the values of mcp_item. */
typedef enum mcp__pass_name {
    MCP__PASS_NAME_URI = 0,
    MCP__PASS_NAME_TEMPLATE,
    MCP__PASS_NAME_PROMPT,
    MCP__PASS_NAME_TOOL,
} mcp__pass_name;

/* Texts that replace those of the other server; NULL leaves one unchanged. */
typedef struct mcp__pass_titles {
    const char *title, *description;
} mcp__pass_titles;

typedef struct mcp__pass {
    const mcp__revision *to;
    /* Appends the name by which the peer knows the item, without quotes. Returns false if the item
     * does not exist for this peer. */
    bool (*name)(void *user, mcp__pass_name kind, mcp_str name, mcp__buf *b);
    /* Returns whether a value of a completion is sent. If this is NULL, all are. */
    bool (*value)(void *user, mcp_str value);
    /* Gets the texts for an entry of a list of tools or prompts. NULL means none. */
    void (*words)(void *user, mcp__pass_name kind, mcp_str name, mcp__pass_titles *to);
    /* All names stay the same and may be shown to the peer, so `name` need not be called. */
    bool same_names;
    /* What the user reads before the messages of the other server, and what precedes its
     * identifiers of elicitations. NULL means nothing. */
    const char *asker;
    bool tasks; /* the tools of a list can be called as tasks */
    /* Receives a member of the _meta of the result itself. */
    void (*meta)(void *user, mcp_str key, mcp_str text);
    void *user;
} mcp__pass;

/* Appends an object; `text` is its JSON text. Returns false if the object does not exist for this
 * peer. The caller must then remove the bytes that were appended. */
bool mcp__pass_object(const mcp__pass *pass, mcp__buf *b, mcp__pass_shape shape,
                      const mcp_json *value, mcp_str text);
/* Appends the members of an object without its braces. Used for a result to which other members are
 * added. */
bool mcp__pass_members(const mcp__pass *pass, mcp__buf *b, mcp__pass_shape shape,
                       const mcp_json *value, mcp_str text);
/* Handles a member of a page that is not the array of entries. Returns whether the member is
 * forwarded unchanged. */
bool mcp__pass_page_member(const mcp__pass *pass, mcp_str key, const mcp_json *value, mcp_str text);
/* Returns the error code for the peer that corresponds to an error code of another server. The
 * caller of this function handles the codes that depend on more than the revision. INT64_MIN stands
 * for a code that is missing or no integer. */
int mcp__pass_code(const mcp__revision *to, int64_t code, bool unknown_resource);

/* ---- pass_words.c: texts that replace those of the other server, for pass.c ------------------ */

/* Returns the texts that replace those of an object of this shape. */
mcp__pass_titles mcp__pass_titles_of(const mcp__pass *pass, mcp__pass_shape shape,
                                     const mcp_json *value);
/* Writes the member of an object in its place if the texts concern it. Returns false if it is to be
 * written as it is. */
bool mcp__pass_word(const mcp__pass *pass, mcp__json_list *list, const mcp__pass_titles *words,
                    mcp_str key, const mcp_json *value, mcp_str text);
/* Writes the texts at the end of the object. */
void mcp__pass_end_titles(const mcp__pass *pass, mcp__json_list *list,
                          const mcp__pass_titles *words);

/* ---- pass_question.c: values of questions, for pass.c ---------------------------------------- */

/* Writes the messages of a sampling request. Revisions that allow one content block in a message
 * get a message for each. */
void mcp__pass_messages(const mcp__pass *pass, mcp__buf *b, const mcp_json *array, mcp_str text);
/* Writes a string after the name of the other server, if there is one. */
void mcp__pass_after_asker(const mcp__pass *pass, mcp__buf *b, const char *between, mcp_str text);
/* Writes the only content block of an array, or one text of all its texts. */
void mcp__pass_one_block(mcp__buf *b, const mcp_json *array, mcp_str text);
/* Writes the schema of a form. Returns false if the revision cannot express it. */
bool mcp__pass_form(const mcp__pass *pass, mcp__buf *b, const mcp_json *schema, mcp_str text);

#endif
