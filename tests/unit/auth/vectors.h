/* vectors.h: the examples of the RFCs, and tokens that another implementation signed. */
#ifndef MCP_TESTS_AUTH_VECTORS_H
#define MCP_TESTS_AUTH_VECTORS_H

/* RFC 7515 A.1: HS256, which is refused */
static const char rfc7515_a1[] =
    "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODA"
    "sDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_w"
    "W1gFWFOEjXk";

/* A.2: RS256 */
static const char rfc7515_a2_key[] =
    "{\"kty\":\"RSA\",\"n\":\"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxH"
    "mfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47"
    "soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665x"
    "smtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFk"
    "MLs91kzk2PAcDTW9gb54h4FRWyuXpoQ\",\"e\":\"AQAB\"}";

static const char rfc7515_a2[] =
    "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGF"
    "tcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu"
    "3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdi"
    "uB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--x"
    "i12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5A"
    "XLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";

/* A.3: ES256 */
static const char rfc7515_a3_key[] =
    "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVE"
    "U\",\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}";

static const char rfc7515_a3[] =
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGF"
    "tcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw"
    "5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

/* A.4: ES512 */
static const char rfc7515_a4_key[] =
    "{\"kty\":\"EC\",\"crv\":\"P-521\",\"x\":\"AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxr"
    "rjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk\",\"y\":\"ADSmRA43Z1DSNx_RvcLI87cdL07"
    "l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2\"}";

static const char rfc7515_a4[] =
    "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA.AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1"
    "bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgoXD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqO"
    "gzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn";

/* A.5: "none", which is refused */
static const char rfc7515_a5[] =
    "eyJhbGciOiJub25lIn0.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
    "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ.";

/* RFC 7520 3.3, and 4.1: RS256, 4.2: PS384 */
static const char rfc7520_rsa_key[] =
    "{\"kty\":\"RSA\",\"kid\":\"bilbo.baggins@hobbiton.example\",\"use\":\"sig\",\"n\":\""
    "n4EPtAOCc9AlkeQHPzHStgAbgs7bTZLwUBZdR8_KuKPEHLd4rHVTeT-O-XV2jRojdNhxJWTDvNd7nqQ0VEiZ"
    "QHz_AJmSCpMaJMRBSFKrKb2wqVwGU_NsYOYL-QtiWN2lbzcEe6XC0dApr5ydQLrHqkHHig3RBordaZ6Aj-oB"
    "HqFEHYpPe7Tpe-OfVfHd1E6cS6M1FZcD1NNLYD5lFHpPI9bTwJlsde3uhGqC0ZCuEHg8lhzwOHrtIQbS0FVb"
    "b9k3-tVTU4fg_3L_vniUFAKwuCLqKnS2BYwdq_mzSnbLY7h_qixoR7jig3__kRhuaxwUkRz5iaiQkqgc5gHd"
    "rNP5zw\",\"e\":\"AQAB\"}";

static const char rfc7520_4_1[] =
    "eyJhbGciOiJSUzI1NiIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9.SXTigJlzIGE"
    "gZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4gWW91IHN0ZXAgb250byB"
    "0aGUgcm9hZCwgYW5kIGlmIHlvdSBkb24ndCBrZWVwIHlvdXIgZmVldCwgdGhlcmXigJlzIG5vIGtub3dpbmc"
    "gd2hlcmUgeW91IG1pZ2h0IGJlIHN3ZXB0IG9mZiB0by4.MRjdkly7_-oTPTS3AXP41iQIGKa80A0ZmTuV5ME"
    "aHoxnW2e5CZ5NlKtainoFmKZopdHM1O2U4mwzJdQx996ivp83xuglII7PNDi84wnB-BDkoBwA78185hX-Es4"
    "JIwmDLJK3lfWRa-XtL0RnltuYv746iYTh_qHRD68BNt1uSNCrUCTJDt5aAE6x8wW1Kt9eRo4QPocSadnHXFx"
    "nt8Is9UzpERV0ePPQdLuW3IS_de3xyIrDaLGdjluPxUAhb6L2aXic1U12podGU0KLUQSE_oI-ZnmKJ3F4uOZ"
    "Dnd6QZWJushZ41Axf_fcIe8u9ipH84ogoree7vjbU5y18kDquDg";

static const char rfc7520_4_2[] =
    "eyJhbGciOiJQUzM4NCIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9.SXTigJlzIGE"
    "gZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4gWW91IHN0ZXAgb250byB"
    "0aGUgcm9hZCwgYW5kIGlmIHlvdSBkb24ndCBrZWVwIHlvdXIgZmVldCwgdGhlcmXigJlzIG5vIGtub3dpbmc"
    "gd2hlcmUgeW91IG1pZ2h0IGJlIHN3ZXB0IG9mZiB0by4.cu22eBqkYDKgIlTpzDXGvaFfz6WGoz7fUDcfT0k"
    "kOy42miAh2qyBzk1xEsnk2IpN6-tPid6VrklHkqsGqDqHCdP6O8TTB5dDDItllVo6_1OLPpcbUrhiUSMxbbX"
    "UvdvWXzg-UD8biiReQFlfz28zGWVsdiNAUf8ZnyPEgVFn442ZdNqiVJRmBqrYRXe8P_ijQ7p8Vdz0TTrxUeT"
    "3lm8d9shnr2lfJT8ImUjvAA2Xez2Mlp8cBE5awDzT0qI0n6uiP1aCN_2_jLAeQTlqRHtfa64QQSUmFAAjVKP"
    "bByi7xho0uTOcbH510a6GYmJUAfmWjwZ6oD4ifKo8DYM-X72Eaw";

/* 3.1, and 4.3: ES512 */
static const char rfc7520_ec_key[] =
    "{\"kty\":\"EC\",\"kid\":\"bilbo.baggins@hobbiton.example\",\"use\":\"sig\",\"crv\":"
    "\"P-521\",\"x\":\"AHKZLLOsCOzz5cY97ewNUajB957y-C-U88c3v13nmGZx6sYl_oJXu9A5RkTKqjqvjy"
    "ekWF-7ytDyRXYgCF5cj0Kt\",\"y\":\"AdymlHvOiLxXkEhayXQnNCvDX4h9htZaCJN34kfmC6pV5OhQHir"
    "aVySsUdaQkAgDPrwQrJmbnX9cwlGfP-HqHZR1\"}";

static const char rfc7520_4_3[] =
    "eyJhbGciOiJFUzUxMiIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9.SXTigJlzIGE"
    "gZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4gWW91IHN0ZXAgb250byB"
    "0aGUgcm9hZCwgYW5kIGlmIHlvdSBkb24ndCBrZWVwIHlvdXIgZmVldCwgdGhlcmXigJlzIG5vIGtub3dpbmc"
    "gd2hlcmUgeW91IG1pZ2h0IGJlIHN3ZXB0IG9mZiB0by4.AE_R_YZCChjn4791jSQCrdPZCNYqHXCTZH0-JZG"
    "YNlaAjP2kqaluUIIUnC9qvbu9Plon7KRTzoNEuT4Va2cmL1eJAQy3mtPBu_u_sDDyYjnAMDxXPn7XrT0lw-k"
    "vAD890jl8e2puQens_IEKBpHABlsbEPX6sFY8OcGDqoRuBomu9xQ2";

/* 4.4: HS256, which is refused */
static const char rfc7520_4_4[] =
    "eyJhbGciOiJIUzI1NiIsImtpZCI6IjAxOGMwYWU1LTRkOWItNDcxYi1iZmQ2LWVlZjMxNGJjNzAzNyJ9.SXT"
    "igJlzIGEgZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4gWW91IHN0ZXA"
    "gb250byB0aGUgcm9hZCwgYW5kIGlmIHlvdSBkb24ndCBrZWVwIHlvdXIgZmVldCwgdGhlcmXigJlzIG5vIGt"
    "ub3dpbmcgd2hlcmUgeW91IG1pZ2h0IGJlIHN3ZXB0IG9mZiB0by4.s0h6KThzkfBBBkLspW1h84VsJZFTsPP"
    "qMDA7g1Md7p0";

/* RFC 8037 A.1, its thumbprint in A.3, and A.4: EdDSA */
static const char rfc8037_key[] =
    "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"d\":\"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxy"
    "uf2A\",\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}";

static const char rfc8037_a4[] =
    "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7"
    "-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";

/* RFC 7638 3.1 */
static const char rfc7638_key[] =
    "{\"kty\":\"RSA\",\"n\":\"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAt"
    "VT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl"
    "93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL"
    "5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls"
    "1jF44-csFCur-kEgU8awapJzKnqDKgw\",\"e\":\"AQAB\",\"alg\":\"RS256\",\"kid\":\"2011-04"
    "-29\"}";

/* RFC 9449 4.1: a proof for a token endpoint */
static const char rfc9449_token_proof[] =
    "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgt"
    "MzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VO"
    "SmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiItQndDM0VTYzZhY2MybFR"
    "jIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0Ijo"
    "xNTYyMjYyNjE2fQ.2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FN"
    "yJK70nfbV37xRZT3Lg";

/* RFC 9449 7.1: a proof for a resource */
static const char rfc9449_proof[] =
    "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgt"
    "MzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VO"
    "SmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiJlMWozVl9iS2ljOC1MQUV"
    "CIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJjZS5leGFtcGxlLm9yZy9wcm90ZWN0ZWRyZXN"
    "vdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8ycjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUl"
    "pS0NBcWtzbVFFbyJ9.2oW9RP35yRqzhrtNP86L-Ey71EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy"
    "1dqd-jfxSYoMxhAJpLjA";

static const char rfc9449_token[] = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU";

static const char rfc9449_jkt[] = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";

/* Keys that were made with the Python package jwcrypto, and a token of each algorithm. */
static const char key_rsa[] =
    "{\"d\":\"LwvupAyCu_FvjFXovbZZWOjv-ox_5ygBraajH71xn1jX0g8xiLCrVWmIH5sbhk05-yYPVL-DxQx"
    "OIISJJ-JD9wrnAn8RL4fpNcfiAI7XbjeZ5cgPo9Zkgjt6MnD5qRz5p_Lb99S7gYcicn5xiWqzJT5asZuwmQ8"
    "khYzc17rkcsn7t7PqjMLYMhaehs2RLj-wTEdAIryedkejHz0prwg3jh7bWhJuoL_LH0d1bd_6B7rn2nt0nfh"
    "d5LV4NOW60THSPTRGoT2myg-4lVo2GUw3ncbgvN-29DIgsgipv-CcPl2nRuFnd9xmp73GlxZysDkoPu5RCyZ"
    "w18IkI3TiNFSwEQ\",\"dp\":\"SJIOEqbuyBTiViokQTSu0Z9gP_Cv3t854hC2TsLSBk29mVpxh7tIdF0Cc"
    "fDuaLVyHEtSgGdVx_SjDGpsrw_YzH6yAfkZR8WwRPJD19ZHXsusa-_XBfStlrH4WChrO-QP9l3iGnHTcsrsv"
    "Yv6lv0bUF7VBUB6hi0akhRTQGOmysc\",\"dq\":\"CE2xmU-fD-6PKllSG14yctgqwIPySuCvHG-snUF28C"
    "Jp1o6wfBvOSm3vjdIpJiez9WcA4sGj2gMGeSaLDcULV9NStYUH5xE5YlaDpAmOifshJ7c1Xj3-VFlejax1k9"
    "paSw2WO7CNOAUmPZOP_tWcBZl45zcOKeKd28Sol-ptr6E\",\"e\":\"AQAB\",\"kid\":\"rsa\",\"kty"
    "\":\"RSA\",\"n\":\"2mrvbvqL6xNU4DV7HpFepCSvSB8p7jVG7Zb-0aqzUCxhAFXznJ_8Vpdc4UGyGayjs"
    "Qqy_LAGnHySN72DCmhvhDo__KDZl54odAKSOpveUyFqW8eN0khh3eNfeB535AwzVpgPEHz5Gru2gtKQVRfB-"
    "lnbWU_S93sjBZVbOEIotPbS455pQ8uwHSNmQKrsOC5V4he_TYaSIaPg1Tc26Ivd5s4xOv8Gmr_RWlfbkt95G"
    "1oLAxBGIbfMcKZOW92i40TNLZF4HA81mXs_kvxQA-F7gekSPCv75v1ZQ6ZUqU0aK88HUjQYuCGjY9U60o0jQ"
    "XwH_cskmuXu7HxCaJAWLNXWew\",\"p\":\"-HLiCl06rlpoRSv2eDxySj_r4Lg5cdUi2qFdMIu7YnZnTtWo"
    "z2ZfgWdYIKzkKniHW76rhNUI7-QeBe46g3bKchCyPqdyeLDz2jcG9_2-I4hhkH_HYDcJjaeXZdiKmi6Ca2j_"
    "e5sjnuPX8NFeu_DJGMFkhraXqLIjiNu1wzEHKQs\",\"q\":\"4Q5jajard2JdsAMDP8R67Ck_YlLgv7ua54"
    "VMidrA24LbDCAVeIOJPF8SZWVRIcH4foOGOJd2VCfcBZzsw6m5yuwnDOOQoeSFWmeKii9Hu5I5ePHthR7Dei"
    "Umpedbt__NwOMgiDw7WWU96A1LbF8qDbW7CzfVwCKy9ylUH6iBzlE\",\"qi\":\"gtW89VDnSYEnZlNIk6T"
    "75QJ4nL3P6FC0brXzCMJX6BxHGjeNEbb-SArOICgKgYiDWnTXhzrs93OP7F8OqVKvD5I_kZV4Ry61DOuTTP1"
    "yFQ9xiYS-_yzD14iIJ9KUV0WlOKGRHMRtvofij3DTgbEh2Tel40SY_5Totny3oZfuEwM\"}";

static const char key_p256[] =
    "{\"crv\":\"P-256\",\"d\":\"DBbPcTEM9stWgo5BSHUhZ-GyD-cOSITrRzhN1fS4-G8\",\"kid\":\"p"
    "256\",\"kty\":\"EC\",\"x\":\"yD_qsPpm-bet8nezpZCNMsBcfdSl85h1RBeH-aTt6rE\",\"y\":\"P"
    "K2d3dAmsj-kYBT_1xemMEhWQ04YDZrDftIYUP4Ks7Q\"}";

static const char key_p384[] =
    "{\"crv\":\"P-384\",\"d\":\"86KBaaq8eMjCnS7Bs2QP3oIKRvricMpwkC3FUi_kzbOADx-wG9rC3meqQ"
    "hpxwWed\",\"kid\":\"p384\",\"kty\":\"EC\",\"x\":\"MqKMvuHDEO_2Q3nliOaMW57KrtO7n4GVNp"
    "UiixmcW2QukzvAvGVbTbuPHq81ZxgS\",\"y\":\"zMlGbslapcT6mK4aRFZqD_JcvNVdPFRMEBfC4zk46Ib"
    "vC_zqMlFJm_bCnoiJsaF9\"}";

static const char key_p521[] =
    "{\"crv\":\"P-521\",\"d\":\"AIPhPTyw7PMZW1yC8KQV9bAqDetXfLPXa48n91UZbpZJSAiVZS0-_-dgT"
    "XXCk_cmx3pTPT8XplQl6egadljhczS4\",\"kid\":\"p521\",\"kty\":\"EC\",\"x\":\"AZlZfxQGj6"
    "dPXAL_55RGDWKm44epLLge0IgHvQyoc_c_DojC3CoaVXZEATaiJqHCgMEmPsxbMlonH1E6tB4ngNCP\",\"y"
    "\":\"ABh5yAs4IMFNo0TV7ep5OWMKIbwejN39e7dH_5Cr-73l-fDwXrkb6tBWg_ri5PJLAPeBV45OLntQbMV"
    "hvaYBD-G8\"}";

static const char key_ed25519[] =
    "{\"crv\":\"Ed25519\",\"d\":\"_e82RcAO7Bxm2j4pjdJJsb5CSqczGsCLBsffdhBLiGU\",\"kid\":"
    "\"ed25519\",\"kty\":\"OKP\",\"x\":\"YIjMDD2LW1F_SbugnV0Vt5WVp4iueDNPqmTMymWcZL8\"}";

static const struct foreign {
    const char *alg, *key, *token;
} foreign[] = {
    {"RS256", key_rsa,
     "eyJhbGciOiAiUlMyNTYiLCAia2lkIjogInJzYSIsICJ0eXAiOiAiYXQrand0In0.eyJpc3MiOiJodHRwczov"
     "L2FzLmV4YW1wbGUifQ.dvPwc1nR2LV39hXbfz3L1wYvI5x6DC_Bcf_SStnygwwvx1Qls6FFMCsC-gboQEdan"
     "YqJ8O33P1Kp9NiCt9K_j_9-AEhBFB1mIN3MqvS824w4Iph_nI1tbV6za8b2JkTn1SYIQBYgjKcgOGlWqlouI"
     "demv0c1qMzVASywoybL1dcm2qUkN8GM_og5HJoPRw2BWO6-lDHJaEf5Oxbkq6DIy3dlRYsN1M3TKsLYIs57V"
     "KAfAOSTw7tQ9Uy1JBADiqiq4XXuJJ5kTuvL4xNNpgJ3D8PR94VcqFXdajpQbqqx9DdUfTJh661f4u_GPoYJl"
     "3eOlPgarXFXDGs2GytE_iZSpQ"},
    {"RS384", key_rsa,
     "eyJhbGciOiAiUlMzODQiLCAia2lkIjogInJzYSIsICJ0eXAiOiAiYXQrand0In0.eyJpc3MiOiJodHRwczov"
     "L2FzLmV4YW1wbGUifQ.y8TJSUS6oGJnqCG3qRmxWrmaKBQkYxlCi_cP-JZ3Y6AJFRyi8nnYfI5mHZFzhGttH"
     "zSr1iU1vOOJqkqNxmheJAqN-2RR-7x_bzGqWwffsZzAj5puBFncPHnbaCF6eY8lzap_Dp3b3C2rFwsHw1pez"
     "7IYHdSScjFtkRoqBbMybECXxDAudyRfO6nol8pOjvezZexlrPl2P7b2lg2359xMUjf4OgGzh9d6q2jQbEGPv"
     "UKmSw5e4WQ-AFdlP4tFu5ExKeJcNNUpF3bRLcq0f233LCRGDm_S8jGuBeIFq2yLBABwJSWU3uvLMOHJyVmjo"
     "LTSjJdpzmIE0F6n4CEu1D8KOw"},
    {"RS512", key_rsa,
     "eyJhbGciOiAiUlM1MTIiLCAia2lkIjogInJzYSIsICJ0eXAiOiAiYXQrand0In0.eyJpc3MiOiJodHRwczov"
     "L2FzLmV4YW1wbGUifQ.bJs7LMYyaZgBmkfIgE4E87S26dB7K9Vdf7-FbV0Aqv-BQbjCum2oxkp6b7LE3GeHg"
     "c8sTLubZURmLgv9zAhPf72zk19cwOS03VkpHcYhpVRY-VttCu40X6d91vM0CNLr3_zeA2RrY_vwGuF0DBGU_"
     "-w7cS9MXq_MO97cV05eAAUisAsXRXul9Bn7AIutYgwN05ePYKSvES7iSyftAQYtPHjzvbaUJumAqsX1Dwmtu"
     "34DPhM321uZVF-5CtfrIao074MSZbIb9GD2w2UgbrQW1wipH1-EMLNJrCzwPcCfA6dzZ0KvJVSuNBf6JYxji"
     "7cx_SHuHwjByP-R7EsACyKaGA"},
    {"PS256", key_rsa,
     "eyJhbGciOiAiUFMyNTYiLCAia2lkIjogInJzYSIsICJ0eXAiOiAiYXQrand0In0.eyJpc3MiOiJodHRwczov"
     "L2FzLmV4YW1wbGUifQ.KFRRRjCezWIe8vWvGxUmb4JVi-kk3OOcvgFEI1VifEOFHlS0frFxdbtHSholR968B"
     "tnSrlbW9Lh_ZaD3V-klmO9e9F5Sb4BJ-bpeQiO3STCJE59IjaSgDe1fPok0pRCsWgwfURvBeDWA_C147bHt2"
     "8C6e5LnAyMJirbbsgwpBxsOfZvxOAdnIIIBSbLlGNXwOjkejcyaMei4wPYm5tbrKSk7BGvZUwVM6QnTcUEUn"
     "Zgmw3zv2wU1KJX_oSshhWTUpk_IrclZngHs3RxHaf1iRi1R5AjvsiofVjvabFr_9Xr_oPPc1cAu1_Ppy_As2"
     "-srnlxm5-c3JeXTXktlAS27dg"},
    {"PS384", key_rsa,
     "eyJhbGciOiAiUFMzODQiLCAia2lkIjogInJzYSIsICJ0eXAiOiAiYXQrand0In0.eyJpc3MiOiJodHRwczov"
     "L2FzLmV4YW1wbGUifQ.XtiWlbrHtwUqYdAMXCJcviktK_HKX2erGFpQ7DEcjV-l_8m87zrjksUDNILL2ifFY"
     "58kldrkBpjo_3y0GCSfiwL70G_GO3KlsvdsBm48uVAuz0yFEcddzIu0EYKt3f2sCyr7IktVLc5R9mDZ-5_Sf"
     "JA2gMPJOUjlHHlGz0efhqkeZMRW1c10WJBZJ3u-yUF90DV5n2W4dhj_lbDyhSywRt7EjmaWx3z35K25o0WzM"
     "EwlpSAcWU6ZiaW6inAssC6p08M2Od3DO7JAMQk8ePgNWnopX99Sj2rgobIDY7tPm9Y7zP538Z9blGlTcvoqk"
     "BcMyijEwlr4ePeDsMJy-zc2kg"},
    {"PS512", key_rsa,
     "eyJhbGciOiAiUFM1MTIiLCAia2lkIjogInJzYSIsICJ0eXAiOiAiYXQrand0In0.eyJpc3MiOiJodHRwczov"
     "L2FzLmV4YW1wbGUifQ.sNBHbRDplhYgw5h74A96Jy0_xk3Caq5P1XZeZPsqGxXXUi_-VmK7hOq4zLla8xpOu"
     "0vXBVucg4FUt-f1NroGEwB6lcJCR2vCKgW52fy5XlUSeq7isKTfyd7obkAiJzzlTL-wGanL-G231jx_PsW1s"
     "43BYpDyNgvQQLA5TOPrI8y9WffgJ-ewmhy-4al-Bf2Xhcq-YK_ONQ14GfKconPHhjFIi7ILhGqND-jOr4oIk"
     "4HSG8InYc0OWxYJL-YM9dUC0EF83sI2HHdM-BuMjgPAQVG9nNWoLoD1qRrOQgBflJI6Aqy_6l3Fj5QzHXJmB"
     "UqI5o6zeuMHY50EmOom9tkf8w"},
    {"ES256", key_p256,
     "eyJhbGciOiAiRVMyNTYiLCAia2lkIjogInAyNTYiLCAidHlwIjogImF0K2p3dCJ9.eyJpc3MiOiJodHRwczo"
     "vL2FzLmV4YW1wbGUifQ.RBHJnXsF3tK7Ufcpj68rVSed-x7FTKTRkan-2lgOEefqoumOaQq-MFTuBsVAC63V"
     "-UQVzSl4T9T4wB5eu3Z7Bg"},
    {"ES384", key_p384,
     "eyJhbGciOiAiRVMzODQiLCAia2lkIjogInAzODQiLCAidHlwIjogImF0K2p3dCJ9.eyJpc3MiOiJodHRwczo"
     "vL2FzLmV4YW1wbGUifQ.1Me1KNDw52B6g2CF_c-DLYsA6YBfbfLoCqjx5f4bqS5oedZOjDyCor85gasVE8J1"
     "-7XU7mx9NnS0rZg0XSv8DeqvzevrIRUwZfplCQWg6ODpuapQ5WcAAab63Pqo8ehV"},
    {"ES512", key_p521,
     "eyJhbGciOiAiRVM1MTIiLCAia2lkIjogInA1MjEiLCAidHlwIjogImF0K2p3dCJ9.eyJpc3MiOiJodHRwczo"
     "vL2FzLmV4YW1wbGUifQ.ADOEyx4PXC2fb0M5tK1qCEZfw_S3XqFXnFpuPAcfIPOg6A_bWLuJxzsARb19w43O"
     "dYoJS-uywGxrIgTyGbtGYqQ4Af2v-oMqHK7AsnlSLXV09EhKLIWqltOiNcAj8QYcjNT0QjzPOm1v0c3P23oT"
     "gT7dNVEYpbPD8nAgWFFCK33F2dtM"},
    {"EdDSA", key_ed25519,
     "eyJhbGciOiAiRWREU0EiLCAia2lkIjogImVkMjU1MTkiLCAidHlwIjogImF0K2p3dCJ9.eyJpc3MiOiJodHR"
     "wczovL2FzLmV4YW1wbGUifQ.Z7SgOsCYWEtShO1Wu3-jl_VWxPVrvk0QkeDkK60Q8I9F517TLWJyh07Cd51C"
     "DPKqAPoo1HzZbHPy3MaZaNlfCQ"},
};

/* PS256 with salts that are not as long as the digest (0, 20, and the longest), which are
 * refused. */
static const char *const other_salts[] = {
    "eyJhbGciOiJQUzI1NiIsImtpZCI6InJzYSJ9.e30.znDjDd8u_SbNjD9lPzZfTWRbvNM2rT6YgFBbTTCYjRR"
    "nkAW8q7AwCw1dbgEM7FmDJEOtrX-OHncdsQBddLMYLkvloPtX3V1BhK24D4iygMUmHRcXgtIDPB_jZL9mmJq"
    "068J6btlmDE1TFivHwA7i35ipAJG4Vv0mlONc1YNodkLwNBXoEZXKEpyMKuBD5_9j1h8L_ZChsVrZlV6YnH3"
    "TAaQ7kpObdH5-elBVUjelmwZL_F6CmXxI90Po5g4tkiReeH01__Gnupb2Nlh-LA8O5UvoNB7A3fqqPgVgG0K"
    "-Hn2JZwXQorDCrmaGnIIm0_Fo5jGENCuYMVkEkBwmRpVWog",
    "eyJhbGciOiJQUzI1NiIsImtpZCI6InJzYSJ9.e30.2iiZWiBGAn3xd4S8Uodty5CGo3zZeT_ZY7bGZ1AM0xa"
    "0tKIsYl2dkAq0WzbDx9PRtp8qop98UZMjQbhdcm0j4dm0xKHuuixg8jVuqiJ92ZIx8dpzvyP1g7zg9CZZ-ti"
    "aMGahElnv4EnUwpeb0ofhJ7jMzF3JaCuzQWvMDfhirU009zEkmMHCYb0_QbsV52V-7-COPyPMhgzKAgEkki5"
    "cL7Zw5RPr_-nX-VBJtIcUbZHP55C_nyrVHRgSxDs1MMtQoloC489E8gWqS8ouOztAP71Boelv--POasWlRvq"
    "2svaLjHXt3XSzhLH26e4NWEU3oCB6p9EID8RYqQb43x63iQ",
    "eyJhbGciOiJQUzI1NiIsImtpZCI6InJzYSJ9.e30.kDcSw6rH0qH7i6rjTcb01fJXp7yw-7GxDlxFnudMMC7"
    "LGI5CeyArzGDf6_MbEV8B_wBBilLuPoDtnk-223sblPj-TTyh5v7ZUL3e7z2ZpnxYfh8s2-iXqUAlpsebKw-"
    "M9PQbXQURluzoh90maGvGYQw1WbiiATzghWG9Fz0hsO5JYYdHToa1ZFZVoUwFZR_TqRHa27pSvMlcN3Al-oz"
    "RpEF34idQjsNlkh6ftA-6nzmzO0NEdfBDuMoQIHuvdueLbV-tqVYj6Z7A5DA2bBsjJ234imBVz7BVWneb7r-"
    "uYzCx3A9HtxVT7nNudFaAmU-NIudYy7GyNTaBHsXqbzDhHg",
};

#endif
