/* pem_keys.h: private keys for tests, which another implementation made (Python's cryptography),
 * and their public parts. */
#ifndef MCP_TESTS_AUTH_PEM_KEYS_H
#define MCP_TESTS_AUTH_PEM_KEYS_H

static const struct {
    const char *name, *pem, *jwk;
} pem_keys[] = {
    {"P-256",
     "-----BEGIN PRIVATE KEY-----\n"
     "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgFVZ6m26IMHbRVRlv\n"
     "qnZJBt9RJYLGx5/E8D+4kQ8NllGhRANCAAR5qkuSQbrgAUt2nrGgeR8+0Xb9CJ8e\n"
     "QQtaf4qUAzWsZ47wI+XS/g+f7riLUNgMxgDnaaemEe+jEnvod4Z3cow0\n"
     "-----END PRIVATE KEY-----\n",
     "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"eapLkkG64AFLdp6xoHkfPtF2_QifHkELWn-KlAM1rG"
     "c\",\"y\":\"jvAj5dL-D5_uuItQ2AzGAOdpp6YR76MSe-h3hndyjDQ\"}"},
    {"P-256, SEC 1",
     "-----BEGIN EC PRIVATE KEY-----\n"
     "MHcCAQEEIBVWeptuiDB20VUZb6p2SQbfUSWCxsefxPA/uJEPDZZRoAoGCCqGSM49\n"
     "AwEHoUQDQgAEeapLkkG64AFLdp6xoHkfPtF2/QifHkELWn+KlAM1rGeO8CPl0v4P\n"
     "n+64i1DYDMYA52mnphHvoxJ76HeGd3KMNA==\n"
     "-----END EC PRIVATE KEY-----\n",
     "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"eapLkkG64AFLdp6xoHkfPtF2_QifHkELWn-KlAM1rG"
     "c\",\"y\":\"jvAj5dL-D5_uuItQ2AzGAOdpp6YR76MSe-h3hndyjDQ\"}"},
    {"P-384",
     "-----BEGIN PRIVATE KEY-----\n"
     "MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDAIy6cDX3ULYUK9mUeW\n"
     "UP+/ylWPSq/nW0buWs5XLcLIGdX3pZXL6/3GUUWuV/CRbXShZANiAAQZgEAm1pxQ\n"
     "ewpfPpADXt3vEFHsNkmUhv/cAHp7ZtIbA8bnybChurp3blTose5ntNbLc8tHGpd9\n"
     "qTuCxGTUGTXboXv9et/gkf/k/7D5kjJp4dIhQuImrAl7CSw1ndrlpVA=\n"
     "-----END PRIVATE KEY-----\n",
     "{\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\"GYBAJtacUHsKXz6QA17d7xBR7DZJlIb_3AB6e2bSGw"
     "PG58mwobq6d25U6LHuZ7TW\",\"y\":\"y3PLRxqXfak7gsRk1Bk126F7_Xrf4JH_5P-w-ZIyaeHSIULiJqw"
     "JewksNZ3a5aVQ\"}"},
    {"P-521",
     "-----BEGIN PRIVATE KEY-----\n"
     "MIHuAgEAMBAGByqGSM49AgEGBSuBBAAjBIHWMIHTAgEBBEIApP+q5zlwSLqnKpsS\n"
     "7ksBb7KcMGe9gI6H45+PENEVZNV/5kb0mpY+PJDrPftqXYPJ+Weo2bCrFm+MDcz5\n"
     "eWCEVzihgYkDgYYABACrSOaHA5irgWTvkDQwAfFABdgoHsbS/BhUg7KnaIgFdKxx\n"
     "BWJ3KAVrqJeUn6Sa47rpnRxm7PNmFs0wzaDHYy3lTQEj6qizh2GXJN9pPnM3k0m1\n"
     "GoL4b6ZwQ4DPdQJR+Ss2UBS49DTGwHXzgWStxhUc3V6K2qdobIeFemqEWsSlVtRd\n"
     "8w==\n"
     "-----END PRIVATE KEY-----\n",
     "{\"kty\":\"EC\",\"crv\":\"P-521\",\"x\":\"AKtI5ocDmKuBZO-QNDAB8UAF2CgextL8GFSDsqdoiA"
     "V0rHEFYncoBWuol5SfpJrjuumdHGbs82YWzTDNoMdjLeVN\",\"y\":\"ASPqqLOHYZck32k-czeTSbUagvh"
     "vpnBDgM91AlH5KzZQFLj0NMbAdfOBZK3GFRzdXorap2hsh4V6aoRaxKVW1F3z\"}"},
    {"RSA",
     "-----BEGIN PRIVATE KEY-----\n"
     "MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQC5nYEo8aLVSMYO\n"
     "VQ3RS8dSU9zcMj+JaqDkLMI6olBHSaTFAFHvpXqiKRhlDuZu+u8V+4UFcGRiIG/8\n"
     "5kNrutKxdcK1UWmpcm1IniStshQnTk/9Q+OvQF+QVTOExXdsPrebpDMwfz+cwjDT\n"
     "320ykS0USBRIUzqXah0RbfB948NkrcGEUD269xu56Ag7e0JKSSLu+/MLzrVW9vAl\n"
     "BVSpxNAOfJpfCouCX1n9nmcGkhtd2WcuzNQTAWqd7mJX2koQD4nbBkZMbzsGwUzm\n"
     "HrzVV6zWx3+7vRZFYDcy284eyL6odtsSfacrDU2k7OV/MiXSmLW8hV7le6mQPPZU\n"
     "Iw/XBhhdAgMBAAECggEAAJu556kYkGR//GUrYmspGQtJdKukFc5BuWRws54zp38b\n"
     "u749TkeLO5A/ZDu2bmmHrbRboUS0T+PAz5YVSJ9F4aLFegoTkYopF/wgPxrPCzZA\n"
     "RYDys8NTnUx0k5X2LeQsk/khC5gFhV8kX8IYLybMBeEGk2SXCHW/zl4QidSriPyF\n"
     "T9WCoMl5WYzCvu6lpvULfajYv4KGsVdUJdWiZY+6amPmZaBdHQwuml/dRiWfP7kz\n"
     "6SrdL4W101cSIgaC1JNW5PwMaqLCpgqbtdYYUE0PBiBnzKS5UYWv8+jIg0sMaJSx\n"
     "+NPNBP1r8UYen/c5h9Avyu1gGREFY/TvcaiKR755DwKBgQD7GrErq2v0pob9hndW\n"
     "tjPf6o0tYzmVEaLqiqw4We1aJzPNOFwhiui2AAEGpNLYCnOIwb7BbZLYT0PY1MOQ\n"
     "+hl13ltEB8pYBVZYQIJLVZCU9bt8Y2QDpU2xRTM5CnAkfbVbf4aLy9dLwZGesMxs\n"
     "NywEmlxq2u6Ur5ERFCQdMRLMVwKBgQC9O/HU0BmYmixZ2GYuNPwunIA4fMAxzQfW\n"
     "CFSuE7UFzN1FLKikUI+An2GFLEM9ENYa9jckA62mxYZEGWHuCK/QJtqhdAa8aOzd\n"
     "LlhosePYvMWn4H5j/UCJUQe9G1/WHCPOr+GHVtfQs/TxUjBG8W3dCYfs9YGXq12P\n"
     "HUViDHzQawKBgD3BhM1OrZBP3GdByNvkl8F8OBhvjNviqISyckSxqTRA6/aO4+nD\n"
     "9hO80IPHyaskduGtdLKxtinI5NDREv/24ogglaWXnOYk+eVeiCzq8FISVXf0Icbb\n"
     "ws3UTRK8RHRVDmNga8C580tIYf37UWtT7ll7dTs6eO7MdwsSPweG6C6lAoGBALwJ\n"
     "LtqLFoQe3udAMvjDSbt/Y6G9xLU3yQuTJ6H6jyx+T3kHUWRFcPMcbKkKPJ4Xdsk/\n"
     "07cDuLA5IpvUpQ0EsL8jfKhmRLM/h+6YuNz/tyqNGdMhLjZpVpGcZRYyd16og6RD\n"
     "/NShJL6Ls1+AjdxQ1xyG9fwuUGHHtKYbLfCp+/SVAoGBAPZAloyCdPR2P7ZSse5g\n"
     "e8EIee5rrGmx5uo1xQscNpD5ycGNAXvDio3sjsF75LtpZdVyYE5BU+L/o8KqWdPm\n"
     "eJu6mttN1SuuPkZdsu4G34Y5tJvXFwf6CIi0+vgioNIWt0MZl1FuOD5rruKNDa51\n"
     "99dVsmWlH7DvUWO77iWIK7zr\n"
     "-----END PRIVATE KEY-----\n",
     "{\"kty\":\"RSA\",\"n\":\"uZ2BKPGi1UjGDlUN0UvHUlPc3DI_iWqg5CzCOqJQR0mkxQBR76V6oikYZQ7"
     "mbvrvFfuFBXBkYiBv_OZDa7rSsXXCtVFpqXJtSJ4krbIUJ05P_UPjr0BfkFUzhMV3bD63m6QzMH8_nMIw099"
     "tMpEtFEgUSFM6l2odEW3wfePDZK3BhFA9uvcbuegIO3tCSkki7vvzC861VvbwJQVUqcTQDnyaXwqLgl9Z_Z5"
     "nBpIbXdlnLszUEwFqne5iV9pKEA-J2wZGTG87BsFM5h681Ves1sd_u70WRWA3MtvOHsi-qHbbEn2nKw1NpOz"
     "lfzIl0pi1vIVe5XupkDz2VCMP1wYYXQ\",\"e\":\"AQAB\"}"},
    {"RSA, PKCS #1",
     "-----BEGIN RSA PRIVATE KEY-----\n"
     "MIIEpAIBAAKCAQEAuZ2BKPGi1UjGDlUN0UvHUlPc3DI/iWqg5CzCOqJQR0mkxQBR\n"
     "76V6oikYZQ7mbvrvFfuFBXBkYiBv/OZDa7rSsXXCtVFpqXJtSJ4krbIUJ05P/UPj\n"
     "r0BfkFUzhMV3bD63m6QzMH8/nMIw099tMpEtFEgUSFM6l2odEW3wfePDZK3BhFA9\n"
     "uvcbuegIO3tCSkki7vvzC861VvbwJQVUqcTQDnyaXwqLgl9Z/Z5nBpIbXdlnLszU\n"
     "EwFqne5iV9pKEA+J2wZGTG87BsFM5h681Ves1sd/u70WRWA3MtvOHsi+qHbbEn2n\n"
     "Kw1NpOzlfzIl0pi1vIVe5XupkDz2VCMP1wYYXQIDAQABAoIBAACbueepGJBkf/xl\n"
     "K2JrKRkLSXSrpBXOQblkcLOeM6d/G7u+PU5HizuQP2Q7tm5ph620W6FEtE/jwM+W\n"
     "FUifReGixXoKE5GKKRf8ID8azws2QEWA8rPDU51MdJOV9i3kLJP5IQuYBYVfJF/C\n"
     "GC8mzAXhBpNklwh1v85eEInUq4j8hU/VgqDJeVmMwr7upab1C32o2L+ChrFXVCXV\n"
     "omWPumpj5mWgXR0MLppf3UYlnz+5M+kq3S+FtdNXEiIGgtSTVuT8DGqiwqYKm7XW\n"
     "GFBNDwYgZ8ykuVGFr/PoyINLDGiUsfjTzQT9a/FGHp/3OYfQL8rtYBkRBWP073Go\n"
     "ike+eQ8CgYEA+xqxK6tr9KaG/YZ3VrYz3+qNLWM5lRGi6oqsOFntWiczzThcIYro\n"
     "tgABBqTS2ApziMG+wW2S2E9D2NTDkPoZdd5bRAfKWAVWWECCS1WQlPW7fGNkA6VN\n"
     "sUUzOQpwJH21W3+Gi8vXS8GRnrDMbDcsBJpcatrulK+RERQkHTESzFcCgYEAvTvx\n"
     "1NAZmJosWdhmLjT8LpyAOHzAMc0H1ghUrhO1BczdRSyopFCPgJ9hhSxDPRDWGvY3\n"
     "JAOtpsWGRBlh7giv0CbaoXQGvGjs3S5YaLHj2LzFp+B+Y/1AiVEHvRtf1hwjzq/h\n"
     "h1bX0LP08VIwRvFt3QmH7PWBl6tdjx1FYgx80GsCgYA9wYTNTq2QT9xnQcjb5JfB\n"
     "fDgYb4zb4qiEsnJEsak0QOv2juPpw/YTvNCDx8mrJHbhrXSysbYpyOTQ0RL/9uKI\n"
     "IJWll5zmJPnlXogs6vBSElV39CHG28LN1E0SvER0VQ5jYGvAufNLSGH9+1FrU+5Z\n"
     "e3U7OnjuzHcLEj8HhugupQKBgQC8CS7aixaEHt7nQDL4w0m7f2OhvcS1N8kLkyeh\n"
     "+o8sfk95B1FkRXDzHGypCjyeF3bJP9O3A7iwOSKb1KUNBLC/I3yoZkSzP4fumLjc\n"
     "/7cqjRnTIS42aVaRnGUWMndeqIOkQ/zUoSS+i7NfgI3cUNcchvX8LlBhx7SmGy3w\n"
     "qfv0lQKBgQD2QJaMgnT0dj+2UrHuYHvBCHnua6xpsebqNcULHDaQ+cnBjQF7w4qN\n"
     "7I7Be+S7aWXVcmBOQVPi/6PCqlnT5nibuprbTdUrrj5GXbLuBt+GObSb1xcH+giI\n"
     "tPr4IqDSFrdDGZdRbjg+a67ijQ2udffXVbJlpR+w71Fju+4liCu86w==\n"
     "-----END RSA PRIVATE KEY-----\n",
     "{\"kty\":\"RSA\",\"n\":\"uZ2BKPGi1UjGDlUN0UvHUlPc3DI_iWqg5CzCOqJQR0mkxQBR76V6oikYZQ7"
     "mbvrvFfuFBXBkYiBv_OZDa7rSsXXCtVFpqXJtSJ4krbIUJ05P_UPjr0BfkFUzhMV3bD63m6QzMH8_nMIw099"
     "tMpEtFEgUSFM6l2odEW3wfePDZK3BhFA9uvcbuegIO3tCSkki7vvzC861VvbwJQVUqcTQDnyaXwqLgl9Z_Z5"
     "nBpIbXdlnLszUEwFqne5iV9pKEA-J2wZGTG87BsFM5h681Ves1sd_u70WRWA3MtvOHsi-qHbbEn2nKw1NpOz"
     "lfzIl0pi1vIVe5XupkDz2VCMP1wYYXQ\",\"e\":\"AQAB\"}"},
    {"Ed25519",
     "-----BEGIN PRIVATE KEY-----\n"
     "MC4CAQAwBQYDK2VwBCIEIFj7ilzntNW+rj+sZnUk/YBqFTXsYzbGA68Z+QxKh1yU\n"
     "-----END PRIVATE KEY-----\n",
     "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"z_S7gw5acmRiSoMqBDXza6KLNRGMcBzHO6kn8mF"
     "8B44\"}"},
};

static const char pem_small_rsa[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIICdQIBADANBgkqhkiG9w0BAQEFAASCAl8wggJbAgEAAoGBANWeFHdM0lIylKqa\n"
    "Fmt8zFaSRZ48duxSbeMVhAFGDJKT5rcSCQMwSci7lu+6PRHgj2MG7cNKRDzToZCP\n"
    "CZDlGWG8Gg9lXQcN/yOK0SSnVzkljRtYRnvt2Aa2+Z8aTPvflXeQnWjuboLMSjCr\n"
    "VDPPFgIiKx0CTHHNTdC9K902aZ51AgMBAAECgYArqt36KT0RSn+zhD4zCNbol4wd\n"
    "tbSFyK/n7N0IOZ6WVB+kqs4m1bcvjpFjPgn/3ozRLHhsJIFggc6UM3k8ImkWftnz\n"
    "kf7PYJn7gIqomOAq2F2THDGDkmVAyM/OPfr3JWoBmnNH6dKiiFWAAt01TLXX2ESL\n"
    "NB5kP+3rqIoE83JJvQJBAPVsI32i8Yp451MAAJeh4NyPtxikGRcJiVwZMlYWSqG8\n"
    "qiTYTfZCHKG4+6pHF04YzVEXQOrFpL81oovSMkDjjeMCQQDe0wXMbqx7805XnGEC\n"
    "EbjP905Q71du0fHl5pOtDMPsNhwymUgyp6TOLP5/vPJtjYFJr0Mh/J5Y3R+HDydF\n"
    "kNHHAkAmwEhqUgwpfSWpaVqulpTWvqp+bYq4pHzX2fKkvShTmWKUJsNImu/CaV7z\n"
    "Z/46CpiAsVdCuqpktqdPxITC0itZAkAZ21j/6RPg6lH7/qyPJelRULxoze1ScdBl\n"
    "QkV+vk15+ql5AaqMHkIUnsoFnrJvHg2TtF/Q8NSbMUW4UXzYKL7/AkAp3Q8dH5QX\n"
    "HZwOIC0DpXxxwdvW8n5Gn9DxStbPnILZ6T4kTYC+i4W6Kilh6hon244LsbpzyCPP\n"
    "jonKd+Fvd/Sj\n"
    "-----END PRIVATE KEY-----\n";

static const char pem_secp256k1[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQgg8G2uqFnyHMVvZfb0PIQ\n"
    "6DInqZQdmwMJysXriZJ/FUehRANCAARXaQRMtourKfLBw7cRTDP6ygcgaxKtiMJp\n"
    "Y/QWgyWUIL7IkI2rJlPaCdE9NaAmsNnkZZYo574h6JkAC6Lunv5V\n"
    "-----END PRIVATE KEY-----\n";

static const char pem_x25519[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VuBCIEIEBq6hlZxmUvHcLlZ0ctNH8t1jrjt2uzp0LHzX3VmO11\n"
    "-----END PRIVATE KEY-----\n";

#endif
