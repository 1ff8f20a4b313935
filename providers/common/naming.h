/* naming.h: the parameter `named` of a database: the columns whose name, or whose type's name, contains a
 * text, ignoring the case of ASCII letters, as a JSON object:
 *
 *     {"named":[{"uri":TABLE,"name":"sales.customer","column":"customer_email","type":"text"}]}
 *
 * with "more":true if there are others. find_resources asks for it, since lists have no columns.
 */
#ifndef COMMON_NAMING_H
#define COMMON_NAMING_H

enum {
    COMMON_NAMED_MOST = 50, /* columns in an answer */
    COMMON_NAMED_MAX = 256, /* bytes of the text */
};

#define COMMON_NAMED_WRONG "named must have 1 to 256 bytes, and only format can be given with it"

#endif
