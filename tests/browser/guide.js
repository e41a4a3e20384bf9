// SPDX-License-Identifier: GPL-2.0-or-later
// guide.js LINK OUT CHROMIUM GUIDE.md - the paths of a guide (docs/guide_*.md), clicked as they are written there, in a browser without scripts.
// Of each section with a line "Path: STEP → STEP", from the overview on:
//   **Name**                                  a link of that name
//   Label **value**                           a field of a form, filled in or chosen
//   press **Name**                            a button
//   the number of the job that says “text”    the first link of the row with that text
//   the number of ..., the name of ...        the first link of the first row
// and of its line "There: “text”, “text”": each is on the page that the path leads to. TAP.
'use strict';
const fs = require('fs');
const path = require('path');
const { chromium } = require('playwright-core');

const [link, out, executablePath, guide] = process.argv.slice(2);
let n = 0;
let failed = false;

function ok(good, name, detail) {
  n += 1;
  console.log(`${good ? 'ok' : 'not ok'} ${n} - ${name}`);
  if (!good) {
    failed = true;
    String(detail).split('\n').slice(0, 40).forEach((line) => console.log(`# ${line}`));
  }
}

// [{title, steps, there}] of the sections that have a path.
function readGuide(text) {
  return text.split(/^## /m).slice(1).map((section) => ({
    title: section.split('\n')[0],
    steps: (section.match(/^Path: (.*)$/m) || ['', ''])[1].split(' → ').filter((s) => s),
    there: [...(section.match(/^There: (.*)$/m) || ['', ''])[1].matchAll(/“([^”]+)”/g)].map((m) => m[1]),
  }));
}

async function fill(page, label, value) {
  const field = page.getByLabel(label).first();
  if (await field.evaluate((e) => e.tagName) === 'SELECT') await field.selectOption(value);
  else await field.fill(value);
}

// One step; throws where the page has no such thing.
async function take(page, step) {
  const named = step.match(/\*\*(.+)\*\*$/);
  const row = step.match(/^the (?:number|name) of .*?(?:“(.+)”)?$/);
  if (row) {
    const rows = page.locator('tbody tr', row[1] ? { hasText: row[1] } : {}).filter({ has: page.getByRole('link') });
    await rows.first().getByRole('link').first().click();
  } else if (!named) throw new Error(`no step of a guide: ${step}`);
  else if (step.startsWith('press ')) await page.getByRole('button', { name: named[1], exact: true }).click();
  else if (step.startsWith('**')) await page.getByRole('link', { name: named[1], exact: true }).first().click();
  else await fill(page, step.slice(0, named.index).trim(), named[1]);
}

async function checkSection(page, section, i) {
  await page.goto(new URL('/web/', link).href);
  let at = '';
  try {
    for (const step of section.steps) {
      at = step;
      await take(page, step);
    }
  } catch (e) {
    ok(false, `${section.title}: the path can be clicked`, `at "${at}" of ${page.url()}: ${e.message}`);
    return;
  }
  const text = await page.locator('main').innerText();
  const missing = section.there.filter((t) => !text.includes(t));
  ok(missing.length === 0, `${section.title}: the answer is there`, `${page.url()} has no ${missing.join(', ')}:\n${text}`);
  await page.screenshot({ path: path.join(out, `${path.basename(guide, '.md')}-${i + 1}.png`), fullPage: true });
}

async function main() {
  const sections = readGuide(fs.readFileSync(guide, 'utf8'));
  const bad = sections.filter((s) => s.steps.length === 0 || s.there.length === 0);
  ok(sections.length > 4 && bad.length === 0, 'each question of the guide has a path and an answer', bad.map((s) => s.title).join('\n'));
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  page.setDefaultTimeout(10000);
  await page.goto(link);
  await page.click('main button');
  for (let i = 0; i < sections.length; i += 1) await checkSection(page, sections[i], i);
  await browser.close();
  console.log(`1..${n}`);
  process.exitCode = failed ? 1 : 0;
}

main().catch((e) => {
  console.log(`Bail out! ${e.message.split('\n')[0]}`);
  process.exit(1); // the browser ends with it
});
