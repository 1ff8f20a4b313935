/* mcp/fields.h: a table of fields that is a schema and a C struct in one.
 *
 *     typedef struct trip { mcp_str to; int64_t days; } trip;
 *     static const mcp_field trip_fields[] = {
 *         MCP_STRING_FIELD(trip, to, .description = "Where to", .required = true),
 *         MCP_INT_FIELD(trip, days, .minimum = 1, .maximum = 30),
 *     };
 *     static const mcp_tool plan_tool = {… .fields = trip_fields, .n_fields = 2, .call = plan};
 *
 *     static int plan(mcp_request *req, const mcp_json *arguments, void *user)
 *     {
 *         trip t = {.days = 7};                // what holds where nothing is said
 *         mcp_fields_read(trip_fields, 2, arguments, &t);
 *
 * The schema (an object without other properties) is made from the table, arguments are checked against it before the
 * handler runs, and the handler reads them into the struct. The other way round a struct becomes the structured
 * result of a tool (mcp_reply_fields()). What needs more than flat objects of strings and numbers is written as a schema
 * (mcp_tool.input_schema).
 */
#ifndef MCP_FIELDS_H
#define MCP_FIELDS_H

#include <mcp/base.h>
#include <mcp/json.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mcp_field_type {
    MCP_FIELD_STRING = 0, /* mcp_str */
    MCP_FIELD_INT,        /* int64_t */
    MCP_FIELD_NUMBER,     /* double */
    MCP_FIELD_BOOL,       /* bool */
} mcp_field_type;

typedef struct mcp_field {
    size_t size;
    const char *name; /* of the property; required */
    mcp_field_type type;
    bool required;
    size_t offset; /* of the member in the struct */
    const char *title;
    const char *description;
    const char *one_of; /* of a string, the values that there are, separated by "|": "km|mile" */
    size_t max_length;  /* of a string, in characters; 0: any */
    double minimum, maximum; /* of a number; where maximum is larger */
} mcp_field;

/* A table is refused with MCP_EINVAL and an error that names the field when a name is missing or comes
 * twice, two fields are the same member, a text is not UTF-8, or limits do not go with the type or
 * with each other (a minimum alone has a maximum of 0). */

/* One element of a table: the struct, its member, which has to be of the right type and gives the property its name, and
 * members of mcp_field, at least one. */
#define MCP_STRING_FIELD(type, member, ...) \
    MCP_FIELD_OF(type, member, mcp_str, MCP_FIELD_STRING, __VA_ARGS__)
#define MCP_INT_FIELD(type, member, ...) \
    MCP_FIELD_OF(type, member, int64_t, MCP_FIELD_INT, __VA_ARGS__)
#define MCP_NUMBER_FIELD(type, member, ...) \
    MCP_FIELD_OF(type, member, double, MCP_FIELD_NUMBER, __VA_ARGS__)
#define MCP_BOOL_FIELD(type, member, ...) \
    MCP_FIELD_OF(type, member, bool, MCP_FIELD_BOOL, __VA_ARGS__)
/* The comparison of pointers is never made: it does not compile when the member is of another type. */
#define MCP_FIELD_OF(struct_type, member, member_type, kind, ...)              \
    {                                                                          \
        .size = sizeof(mcp_field), .name = #member, .type = (kind),            \
        .offset = offsetof(struct_type, member) +                              \
                  0 * sizeof(&((struct_type *)0)->member == (member_type *)0), \
        __VA_ARGS__                                                            \
    }

/* Reads the members of an object, which conforms to the schema of the table, into a struct. What is missing, or of another
 * type, stays as it was: initialize the struct. Strings are borrowed from the object. NULL: an empty object. */
MCP_API void mcp_fields_read(const mcp_field *fields, size_t n, const mcp_json *object, void *to);

/* Writes the struct as an object; a string whose ptr is NULL is left out. */
MCP_API void mcp_fields_write(const mcp_field *fields, size_t n, const void *from,
                              mcp_json_writer *w);

/* Writes the schema of the table. */
MCP_API void mcp_fields_schema(const mcp_field *fields, size_t n, mcp_json_writer *w);

#ifdef __cplusplus
}
#endif
#endif
