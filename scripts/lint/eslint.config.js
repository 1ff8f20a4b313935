// The rules for web/ (scripts/check-js): what ESLint recommends, and what a reader would trip over.

import js from "@eslint/js";
import globals from "globals";

export default [
    { linterOptions: { reportUnusedDisableDirectives: "error" } },
    js.configs.recommended,
    {
        files: ["web/**/*.js"],
        languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: globals.browser },
        rules: {
            "array-callback-return": "error",
            "consistent-return": "error",
            "default-case-last": "error",
            "dot-notation": "error",
            eqeqeq: "error",
            "no-control-regex": "off", // the page shows control characters as symbols
            "no-duplicate-imports": "error",
            "no-eval": "error",
            "no-implied-eval": "error",
            "no-new-func": "error",
            "no-self-compare": "error",
            "no-shadow": "error",
            "no-template-curly-in-string": "error",
            "no-unreachable-loop": "error",
            "no-unused-vars": ["error", { ignoreRestSiblings: true }],
            "no-use-before-define": ["error", { functions: false, classes: false, variables: false }],
            "no-useless-assignment": "error",
            "no-var": "error",
            "object-shorthand": "error",
            "prefer-const": "error",
            "prefer-promise-reject-errors": "error",
        },
    },
];
