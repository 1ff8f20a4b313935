// git repositories for tests, created by git without the user's configuration.

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const env = {
    ...process.env, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_AUTHOR_NAME: 'Ada', GIT_AUTHOR_EMAIL: 'ada@example.org',
    GIT_COMMITTER_NAME: 'Ada', GIT_COMMITTER_EMAIL: 'ada@example.org',
};

const git = (folder, ...args) => execFileSync('git', ['-C', folder, ...args], { env, encoding: 'utf8' }).trim();

// A repository in `folder`, with a work tree: commit({ path: content }, message) gives the new id.
export function makeRepository(folder, files, message = 'first') {
    mkdirSync(folder, { recursive: true });
    const repository = {
        folder,
        git: (...args) => git(folder, ...args),
        commit(changes, subject) {
            for (const [path, content] of Object.entries(changes)) {
                mkdirSync(dirname(join(folder, path)), { recursive: true });
                writeFileSync(join(folder, path), content);
            }
            git(folder, 'add', '.');
            git(folder, 'commit', '-q', '-m', subject);
            return git(folder, 'rev-parse', 'HEAD');
        },
    };
    git(folder, 'init', '-q', '-b', 'main');
    repository.commit(files, message);
    return repository;
}

// A bare one, to which the repository then pushes.
export function makeBare(repository, folder) {
    git(repository.folder, 'clone', '-q', '--bare', '.', folder);
    repository.git('remote', 'add', 'origin', folder);
}
