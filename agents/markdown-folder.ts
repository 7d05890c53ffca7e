/** A folder of Markdown documents as sections: what stands under one heading, short enough to be an answer. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

/** One section, or a part of a long one. */
export interface Section {
  /** Path within the folder, with `/`. */
  readonly source: string;
  /** First heading of the document, or its file name. */
  readonly title: string;
  /** The heading above the text; the title where there is none. */
  readonly heading: string;
  readonly text: string;
}

/** A longer answer is not read; a section beyond this is cut between paragraphs. */
const sectionChars = 1_200;
/** What a folder of documents may reasonably hold; more is a mistake in the setting, and would fill the memory. */
const mostBytes = 64 << 20;

/**
 * Reads every `.md` file below the folder, in the order of their paths. Hidden files and folders are left out.
 * @throws Error when the folder cannot be read, holds no text, or is far too large
 */
export function readMarkdownFolder(folder: string): readonly Section[] {
  let bytes = 0;
  const sections = markdownFiles(folder).flatMap((file) => {
    const full = path.join(folder, file);
    bytes += statSync(full).size;
    if (bytes > mostBytes) throw new Error(`The documents in ${folder} have more than 64 MiB.`);
    return sectionsOf(file.split(path.sep).join('/'), readFileSync(full, 'utf8'));
  });
  if (sections.length === 0) throw new Error(`There is no Markdown document in ${folder}.`);
  return sections;
}

const markdownFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => /\.(md|markdown)$/i.test(entry.name))
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .filter((file) => !file.split(path.sep).some((part) => part.startsWith('.')))
    // Asked of the file itself: a mounted volume may show its files as links.
    .filter((file) => statSync(path.join(folder, file), { throwIfNoEntry: false })?.isFile())
    .sort();

/** The sections of one document. A `#` inside a fenced block is no heading; front matter is no text. */
export function sectionsOf(source: string, markdown: string): Section[] {
  const blocks = blocksOf(markdown.replace(/^\uFEFF?---\r?\n[^]*?\r?\n---\r?\n/, ''));
  const first = blocks.find((block) => block.kind === 'heading');
  const title = first?.text ?? path.posix.basename(source).replace(/\.[^.]*$/, '');
  const sections: Section[] = [];
  let heading = title;
  let text = '';
  const end = (): void => {
    if (text.trim() !== '') sections.push({ source, title, heading, text: text.trim() });
    text = '';
  };
  for (const block of blocks) {
    if (block.kind === 'heading') {
      end();
      heading = block.text;
    } else {
      if (text !== '' && text.length + block.text.length > sectionChars) end();
      text += `${block.text}\n\n`;
    }
  }
  end();
  return sections;
}

type Block =
  | { readonly kind: 'heading'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string };

function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  let lines: string[] = [];
  let fence = '';
  const end = (): void => {
    const text = lines.join('\n').trim();
    if (text !== '') blocks.push({ kind: 'text', text });
    lines = [];
  };
  for (const line of markdown.split(/\r?\n/)) {
    const mark = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? '';
    if (fence === '' && mark !== '') fence = mark;
    else if (fence !== '' && mark.startsWith(fence)) fence = '';
    else if (fence === '') {
      const heading = /^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$/.exec(line)?.[1];
      if (heading !== undefined) {
        end();
        blocks.push({ kind: 'heading', text: plain(heading) });
        continue;
      }
      if (line.trim() === '') {
        end();
        continue;
      }
    }
    lines.push(line);
  }
  end();
  return blocks;
}

/** A heading without its marks: links, code, emphasis. */
const plain = (heading: string): string =>
  heading
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*]|(?<!\w)_|_(?!\w)/g, '')
    .trim();
