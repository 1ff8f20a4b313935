/* template_cases.h: the cases of the public RFC 6570 suite (uritemplate-test: the examples of the
 * specification, the extended and the negative cases) in another form: sets of values as JSON, and
 * for each template its expansion. If the suite allows any order of a map's members, the order of
 * the input is expected. The last column is the result of matching the expansion. */
#ifndef TEMPLATE_CASES_H
#define TEMPLATE_CASES_H

#include <stddef.h>

/* clang-format off */
typedef enum back {
    ROUND,    /* the values, which have the same expansion */
    SHIFTED,  /* the same, except that the next variable gets the place of an undefined one */
    LOSSY,    /* a match; a map's members became elements, or a "%XX" in a value was decoded */
    NO_MATCH, /* an exploded map, whose names the template does not have */
    REFUSED,  /* the template is not matchable */
} back;

typedef struct template_case {
    const char *text;
    const char *expansion;
    back back;
} template_case;

typedef struct template_set {
    const char *name;
    const char *values;
    const template_case *cases;
    size_t count;
} template_set;

static const template_case spec_cases[] = {
    {"{var}", "value", ROUND},
    {"'{var}'", "'value'", ROUND},
    {"{hello}", "Hello%20World%21", ROUND},
    {"{+var}", "value", ROUND},
    {"{+hello}", "Hello%20World!", ROUND},
    {"{+path}/here", "/foo/bar/here", ROUND},
    {"here?ref={+path}", "here?ref=/foo/bar", ROUND},
    {"map?{x,y}", "map?1024,768", ROUND},
    {"{x,hello,y}", "1024,Hello%20World%21,768", ROUND},
    {"{+x,hello,y}", "1024,Hello%20World!,768", ROUND},
    {"{+path,x}/here", "/foo/bar,1024/here", ROUND},
    {"{#x,hello,y}", "#1024,Hello%20World!,768", ROUND},
    {"{#path,x}/here", "#/foo/bar,1024/here", ROUND},
    {"X{.var}", "X.value", ROUND},
    {"X{.x,y}", "X.1024.768", ROUND},
    {"{/var}", "/value", ROUND},
    {"{/var,x}/here", "/value/1024/here", ROUND},
    {"{;x,y}", ";x=1024;y=768", ROUND},
    {"{;x,y,empty}", ";x=1024;y=768;empty", ROUND},
    {"{?x,y}", "?x=1024&y=768", ROUND},
    {"{?x,y,empty}", "?x=1024&y=768&empty=", ROUND},
    {"?fixed=yes{&x}", "?fixed=yes&x=1024", ROUND},
    {"{&x,y,empty}", "&x=1024&y=768&empty=", ROUND},
    {"{var:3}", "val", ROUND},
    {"{var:30}", "value", ROUND},
    {"{list}", "red,green,blue", ROUND},
    {"{list*}", "red,green,blue", ROUND},
    {"{keys}", "semi,%3B,dot,.,comma,%2C", ROUND},
    {"{keys*}", "semi=%3B,dot=.,comma=%2C", LOSSY},
    {"{+path:6}/here", "/foo/b/here", ROUND},
    {"{+list}", "red,green,blue", ROUND},
    {"{+list*}", "red,green,blue", ROUND},
    {"{+keys}", "semi,;,dot,.,comma,,", ROUND},
    {"{+keys*}", "semi=;,dot=.,comma=,", ROUND},
    {"{#path:6}/here", "#/foo/b/here", ROUND},
    {"{#list}", "#red,green,blue", ROUND},
    {"{#list*}", "#red,green,blue", ROUND},
    {"{#keys}", "#semi,;,dot,.,comma,,", ROUND},
    {"{#keys*}", "#semi=;,dot=.,comma=,", ROUND},
    {"X{.var:3}", "X.val", ROUND},
    {"X{.list}", "X.red,green,blue", ROUND},
    {"X{.list*}", "X.red.green.blue", ROUND},
    {"X{.keys}", "X.semi,%3B,dot,.,comma,%2C", ROUND},
    {"{/var:1,var}", "/v/value", ROUND},
    {"{/list}", "/red,green,blue", ROUND},
    {"{/list*}", "/red/green/blue", ROUND},
    {"{/list*,path:4}", "/red/green/blue/%2Ffoo", REFUSED},
    {"{/keys}", "/semi,%3B,dot,.,comma,%2C", ROUND},
    {"{/keys*}", "/semi=%3B/dot=./comma=%2C", LOSSY},
    {"{;hello:5}", ";hello=Hello", ROUND},
    {"{;list}", ";list=red,green,blue", ROUND},
    {"{;list*}", ";list=red;list=green;list=blue", ROUND},
    {"{;keys}", ";keys=semi,%3B,dot,.,comma,%2C", ROUND},
    {"{;keys*}", ";semi=%3B;dot=.;comma=%2C", NO_MATCH},
    {"{?var:3}", "?var=val", ROUND},
    {"{?list}", "?list=red,green,blue", ROUND},
    {"{?list*}", "?list=red&list=green&list=blue", ROUND},
    {"{?keys}", "?keys=semi,%3B,dot,.,comma,%2C", ROUND},
    {"{?keys*}", "?semi=%3B&dot=.&comma=%2C", NO_MATCH},
    {"{&var:3}", "&var=val", ROUND},
    {"{&list}", "&list=red,green,blue", ROUND},
    {"{&list*}", "&list=red&list=green&list=blue", ROUND},
    {"{&keys}", "&keys=semi,%3B,dot,.,comma,%2C", ROUND},
    {"{&keys*}", "&semi=%3B&dot=.&comma=%2C", NO_MATCH},
    {"'{count}'", "'one,two,three'", ROUND},
    {"{count}", "one,two,three", ROUND},
    {"{count*}", "one,two,three", ROUND},
    {"{/count}", "/one,two,three", ROUND},
    {"{/count*}", "/one/two/three", ROUND},
    {"{;count}", ";count=one,two,three", ROUND},
    {"{;count*}", ";count=one;count=two;count=three", ROUND},
    {"{?count}", "?count=one,two,three", ROUND},
    {"{?count*}", "?count=one&count=two&count=three", ROUND},
    {"{&count*}", "&count=one&count=two&count=three", ROUND},
    {"{half}", "50%25", ROUND},
    {"O{empty}X", "OX", ROUND},
    {"O{undef}X", "OX", ROUND},
    {"{x,y}", "1024,768", ROUND},
    {"?{x,empty}", "?1024,", ROUND},
    {"?{x,undef}", "?1024", ROUND},
    {"?{undef,y}", "?768", SHIFTED},
    {"{/var,empty}", "/value/", ROUND},
    {"{/var,undef}", "/value", ROUND},
    {"{+half}", "50%25", ROUND},
    {"{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex", ROUND},
    {"{+base}index", "http://example.com/home/index", ROUND},
    {"O{+empty}X", "OX", ROUND},
    {"O{+undef}X", "OX", ROUND},
    {"up{+path}{var}/here", "up/foo/barvalue/here", REFUSED},
    {"{#var}", "#value", ROUND},
    {"{#hello}", "#Hello%20World!", ROUND},
    {"{#half}", "#50%25", ROUND},
    {"foo{#empty}", "foo#", ROUND},
    {"foo{#undef}", "foo", ROUND},
    {"{.who}", ".fred", ROUND},
    {"{.who,who}", ".fred.fred", ROUND},
    {"{.half,who}", ".50%25.fred", ROUND},
    {"www{.dom*}", "www.example.com", ROUND},
    {"X{.empty}", "X.", ROUND},
    {"X{.undef}", "X", ROUND},
    {"X{.empty_keys}", "X", ROUND},
    {"X{.empty_keys*}", "X", ROUND},
    {"{/who}", "/fred", ROUND},
    {"{/who,who}", "/fred/fred", ROUND},
    {"{/half,who}", "/50%25/fred", ROUND},
    {"{/who,dub}", "/fred/me%2Ftoo", ROUND},
    {"{;who}", ";who=fred", ROUND},
    {"{;half}", ";half=50%25", ROUND},
    {"{;empty}", ";empty", ROUND},
    {"{;v,empty,who}", ";v=6;empty;who=fred", ROUND},
    {"{;v,bar,who}", ";v=6;who=fred", ROUND},
    {"{;x,y,undef}", ";x=1024;y=768", ROUND},
    {"{?who}", "?who=fred", ROUND},
    {"{?half}", "?half=50%25", ROUND},
    {"{?x,y,undef}", "?x=1024&y=768", ROUND},
    {"{&who}", "&who=fred", ROUND},
    {"{&half}", "&half=50%25", ROUND},
    {"{&x,y,undef}", "&x=1024&y=768", ROUND},
};

static const template_case additional_cases[] = {
    {"{/id*}", "/person", ROUND},
    {"{/id*}{?fields,first_name,last.name,token}", "/person?fields=id,name,picture&first_name=John&last.name=Doe&token=12345", ROUND},
    {"/search.{format}{?q,geocode,lang,locale,page,result_type}", "/search.json?q=URI%20Templates&geocode=37.76,-122.427&lang=en&page=5", ROUND},
    {"/test{/Some%20Thing}", "/test/foo", ROUND},
    {"/set{?number}", "/set?number=6", ROUND},
    {"/loc{?long,lat}", "/loc?long=37.76&lat=-122.427", ROUND},
    {"/base{/group_id,first_name}/pages{/page,lang}{?format,q}", "/base/12345/John/pages/5/en?format=json&q=URI%20Templates", REFUSED},
    {"/sparql{?query}", "/sparql?query=PREFIX%20dc%3A%20%3Chttp%3A%2F%2Fpurl.org%2Fdc%2Felements%2F1.1%2F%3E%20SELECT%20%3Fbook%20%3Fwho%20WHERE%20%7B%20%3Fbook%20dc%3Acreator%20%3Fwho%20%7D", ROUND},
    {"/go{?uri}", "/go?uri=http%3A%2F%2Fexample.org%2F%3Furi%3Dhttp%253A%252F%252Fexample.org%252F", ROUND},
    {"/service{?word}", "/service?word=dr%C3%BCcken", ROUND},
    {"/lookup{?Stra%C3%9Fe}", "/lookup?Stra%C3%9Fe=Gr%C3%BCner%20Weg", ROUND},
    {"{random}", "%C5%A1%C3%B6%C3%A4%C5%B8%C5%93%C3%B1%C3%AA%E2%82%AC%C2%A3%C2%A5%E2%80%A1%C3%91%C3%92%C3%93%C3%94%C3%95%C3%96%C3%97%C3%98%C3%99%C3%9A%C3%A0%C3%A1%C3%A2%C3%A3%C3%A4%C3%A5%C3%A6%C3%A7%C3%BF", ROUND},
    {"{?assoc_special_chars*}", "?%C5%A1%C3%B6%C3%A4%C5%B8%C5%93%C3%B1%C3%AA%E2%82%AC%C2%A3%C2%A5%E2%80%A1%C3%91%C3%92%C3%93%C3%94%C3%95=%C3%96%C3%97%C3%98%C3%99%C3%9A%C3%A0%C3%A1%C3%A2%C3%A3%C3%A4%C3%A5%C3%A6%C3%A7%C3%BF", NO_MATCH},
};

static const template_case two_ids_cases[] = {
    {"{/id*}", "/person/albums", ROUND},
    {"{/id*}{?fields,token}", "/person/albums?fields=id,name,picture&token=12345", ROUND},
};

static const template_case empty_cases[] = {
    {"{/empty_list}", "", ROUND},
    {"{/empty_list*}", "", ROUND},
    {"{?empty_list}", "", ROUND},
    {"{?empty_list*}", "", ROUND},
    {"{?empty_assoc}", "", ROUND},
    {"{?empty_assoc*}", "", ROUND},
};

static const template_case numeric_cases[] = {
    {"{42}", "The%20Answer%20to%20the%20Ultimate%20Question%20of%20Life%2C%20the%20Universe%2C%20and%20Everything", ROUND},
    {"{?42}", "?42=The%20Answer%20to%20the%20Ultimate%20Question%20of%20Life%2C%20the%20Universe%2C%20and%20Everything", ROUND},
    {"{1337}", "leet,as,it,can,be", ROUND},
    {"{?1337*}", "?1337=leet&1337=as&1337=it&1337=can&1337=be", ROUND},
    {"{?german*}", "?11=elf&12=zw%C3%B6lf", NO_MATCH},
};

static const template_case explode_cases[] = {
    {"{?id,token,keys*}", "?id=admin&token=12345&key1=val1&key2=val2", NO_MATCH},
    {"{/id}{?token,keys*}", "/admin?token=12345&key1=val1&key2=val2", NO_MATCH},
    {"{?id,token}{&keys*}", "?id=admin&token=12345&key1=val1&key2=val2", NO_MATCH},
    {"/user{/id}{?token,tab}{&keys*}", "/user/admin?token=12345&tab=overview&key1=val1&key2=val2", NO_MATCH},
};

static const template_case reserved_cases[] = {
    {"{+id}", "admin%2F", LOSSY},
    {"{#id}", "#admin%2F", LOSSY},
    {"{id}", "admin%252F", ROUND},
    {"{+not_pct}", "%25foo", ROUND},
    {"{#not_pct}", "#%25foo", ROUND},
    {"{not_pct}", "%25foo", ROUND},
    {"{+list}", "red%25,%2Fgreen,blue%20", LOSSY},
    {"{#list}", "#red%25,%2Fgreen,blue%20", LOSSY},
    {"{list}", "red%2525,%252Fgreen,blue%20", ROUND},
    {"{+keys}", "key1,val1%2F,key2,val2%2F", LOSSY},
    {"{#keys}", "#key1,val1%2F,key2,val2%2F", LOSSY},
    {"{keys}", "key1,val1%252F,key2,val2%252F", ROUND},
};

static const template_case multibyte_cases[] = {
    {"{greek:1}", "%CE%B1", ROUND},
    {"{greek:2}", "%CE%B1%CE%B2", ROUND},
    {"{+greek:2}", "%CE%B1%CE%B2", ROUND},
    {"{greek:30}", "%CE%B1%CE%B2%CE%B3%CE%B4%CE%B5", ROUND},
    {"{currency:1}", "%E2%82%AC", ROUND},
    {"{?currency:1}", "?currency=%E2%82%AC", ROUND},
    {"{clef:1}", "%F0%9D%84%9E", ROUND},
    {"{var:9999}", "value", ROUND},
};

static const template_case literals_cases[] = {
    {"café/{var}", "caf%C3%A9/value", ROUND},
    {"x%20y/{var}", "x%20y/value", ROUND},
    {"x%20y{var}z%20w", "x%20yvaluez%20w", ROUND},
};

static const char negative_values[] =
    "{\"id\": \"thing\", "
    "\"var\": \"value\", "
    "\"hello\": \"Hello World!\", "
    "\"with space\": \"fail\", "
    "\" leading_space\": \"Hi!\", "
    "\"trailing_space \": \"Bye!\", "
    "\"empty\": \"\", "
    "\"path\": \"/foo/bar\", "
    "\"x\": \"1024\", "
    "\"y\": \"768\", "
    "\"list\": [\"red\", \"green\", \"blue\"], "
    "\"keys\": {\"semi\": \";\", \"dot\": \".\", \"comma\": \",\"}, "
    "\"example\": \"red\", "
    "\"searchTerms\": \"uri templates\", "
    "\"~thing\": \"some-user\", "
    "\"default-graph-uri\": [\"http://www.example/book/\", \"http://www.example/papers/\"], "
    "\"query\": \"PREFIX dc: <http://purl.org/dc/elements/1.1/> SELECT ?book ?who WHERE { ?book dc:creator ?who }\"}";

/* Each of these is rejected by the parser or by the expansion. */
static const char *const negative_cases[] = {
    "{/id*",
    "/id*}",
    "{/?id}",
    "{var:prefix}",
    "{hello:2*}",
    "{??hello}",
    "{!hello}",
    "{with space}",
    "{ leading_space}",
    "{trailing_space }",
    "{=path}",
    "{$var}",
    "{|var*}",
    "{*keys?}",
    "{?empty=default,var}",
    "{var}{-prefix|/-/|var}",
    "?q={searchTerms}&amp;c={example:color?}",
    "x{?empty|foo=none}",
    "/h{#hello+}",
    "/h#{hello+}",
    "{keys:1}",
    "{+keys:1}",
    "{;keys:1*}",
    "?{-join|&|var,list}",
    "/people/{~thing}",
    "/{default-graph-uri}",
    "/sparql{?query,default-graph-uri}",
    "/sparql{?query){&default-graph-uri*}",
    "/resolution{?x, y}",
    "{var:0}",
    "{var:01}",
    "{var:10000}",
    "{var:}",
    "{x.}",
    "{x..y}",
    "{%2x}",
};

#define SET(name, json) {#name, json, name##_cases, sizeof(name##_cases) / sizeof(name##_cases[0])}
static const template_set template_sets[] = {
    SET(spec,
        "{\"var\": \"value\", "
        "\"hello\": \"Hello World!\", "
        "\"path\": \"/foo/bar\", "
        "\"empty\": \"\", "
        "\"x\": \"1024\", "
        "\"y\": \"768\", "
        "\"list\": [\"red\", \"green\", \"blue\"], "
        "\"keys\": {\"semi\": \";\", \"dot\": \".\", \"comma\": \",\"}, "
        "\"count\": [\"one\", \"two\", \"three\"], "
        "\"dom\": [\"example\", \"com\"], "
        "\"dub\": \"me/too\", "
        "\"half\": \"50%\", "
        "\"who\": \"fred\", "
        "\"base\": \"http://example.com/home/\", "
        "\"v\": \"6\", "
        "\"empty_keys\": {}, "
        "\"undef\": null}"),
    SET(additional,
        "{\"id\": \"person\", "
        "\"token\": \"12345\", "
        "\"fields\": [\"id\", \"name\", \"picture\"], "
        "\"format\": \"json\", "
        "\"q\": \"URI Templates\", "
        "\"page\": \"5\", "
        "\"lang\": \"en\", "
        "\"geocode\": [\"37.76\", \"-122.427\"], "
        "\"first_name\": \"John\", "
        "\"last.name\": \"Doe\", "
        "\"Some%20Thing\": \"foo\", "
        "\"number\": 6, "
        "\"long\": 37.76, "
        "\"lat\": -122.427, "
        "\"group_id\": \"12345\", "
        "\"query\": \"PREFIX dc: <http://purl.org/dc/elements/1.1/> SELECT ?book ?who WHERE { ?book dc:creator ?who }\", "
        "\"uri\": \"http://example.org/?uri=http%3A%2F%2Fexample.org%2F\", "
        "\"word\": \"drücken\", "
        "\"Stra%C3%9Fe\": \"Grüner Weg\", "
        "\"random\": \"šöäŸœñê€£¥‡ÑÒÓÔÕÖ×ØÙÚàáâãäåæçÿ\", "
        "\"assoc_special_chars\": {\"šöäŸœñê€£¥‡ÑÒÓÔÕ\": \"Ö×ØÙÚàáâãäåæçÿ\"}}"),
    SET(two_ids,
        "{\"id\": [\"person\", \"albums\"], "
        "\"token\": \"12345\", "
        "\"fields\": [\"id\", \"name\", \"picture\"], "
        "\"format\": \"atom\", "
        "\"q\": \"URI Templates\", "
        "\"page\": \"10\", "
        "\"start\": \"5\", "
        "\"lang\": \"en\", "
        "\"geocode\": [\"37.76\", \"-122.427\"]}"),
    SET(empty,
        "{\"empty_list\": [], "
        "\"empty_assoc\": {}}"),
    SET(numeric,
        "{\"42\": \"The Answer to the Ultimate Question of Life, the Universe, and Everything\", "
        "\"1337\": [\"leet\", \"as\", \"it\", \"can\", \"be\"], "
        "\"german\": {\"11\": \"elf\", \"12\": \"zwölf\"}}"),
    SET(explode,
        "{\"id\": \"admin\", "
        "\"token\": \"12345\", "
        "\"tab\": \"overview\", "
        "\"keys\": {\"key1\": \"val1\", \"key2\": \"val2\"}}"),
    SET(reserved,
        "{\"id\": \"admin%2F\", "
        "\"not_pct\": \"%foo\", "
        "\"list\": [\"red%25\", \"%2Fgreen\", \"blue \"], "
        "\"keys\": {\"key1\": \"val1%2F\", \"key2\": \"val2%2F\"}}"),
    SET(multibyte,
        "{\"var\": \"value\", "
        "\"greek\": \"αβγδε\", "
        "\"currency\": \"€uro\", "
        "\"clef\": \"𝄞stave\"}"),
    SET(literals,
        "{\"var\": \"value\"}"),
};
#undef SET
/* clang-format on */

#endif
