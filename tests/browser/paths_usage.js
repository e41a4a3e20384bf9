// SPDX-License-Identifier: GPL-2.0-or-later
// paths_usage.js LINK OUT CHROMIUM MONTH - the questions of a PI, answered by clicks alone from the overview: who used most last month (MONTH,
// 2026-10), will the project run out and when, what is left of the quota, where do I stand. Each page on the way: width, axe-core,
// screenshots in OUT. TAP.
'use strict';
const fs = require('fs');
const path = require('path');
const { chromium } = require('playwright-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const [link, out, executablePath, month] = process.argv.slice(2);
const pages = ['usage', 'usage?by=cluster', 'usage?by=user&account=rrg-curie', 'usage?by=account&account=%3Cb%3E', 'share', 'quota'];
const shapes = [
  { name: '320', width: 320, colorScheme: 'light' },
  { name: '768-dark', width: 768, colorScheme: 'dark' },
  { name: '1440', width: 1440, colorScheme: 'light' },
];
let n = 0;
let failed = false;

function ok(good, name, detail) {
  n += 1;
  console.log(`${good ? 'ok' : 'not ok'} ${n} - ${name}`);
  if (!good) {
    failed = true;
    String(detail).split('\n').forEach((line) => console.log(`# ${line}`));
  }
}

const mainText = (page) => page.locator('main').innerText();
const clickLink = (page, name) => page.getByRole('link', { name, exact: true }).first().click();

// Three clicks: the tab, the month, and the first row has most.
async function checkWhoUsedMost(page) {
  await page.goto(new URL('/web/', link).href);
  await clickLink(page, 'Usage');
  await clickLink(page, 'last month');
  ok(/Most of cpu: rrg-curie with/.test(await mainText(page)), 'who used most last month: two clicks show the project, in a sentence', await mainText(page));
  await clickLink(page, 'By submitter');
  const first = await page.locator('tbody tr').first().innerText();
  ok(/^bin\s+cpu/.test(first), 'a third one the submitter, in the first row', first);
  ok(/Most of cpu: bin with [0-9.]+ equivalent years, 6\d\.\d % of what all used/.test(await mainText(page)), 'and their part of it', await mainText(page));
  ok(page.url().includes(`start=${month}-01`), 'of that month', page.url());
}

// From the list of projects to the sentence, and from there to a submitter and to a month.
async function checkRunsOut(page) {
  await page.goto(new URL('/web/', link).href);
  await clickLink(page, 'Usage');
  const row = await page.locator('tr', { hasText: 'rrg-curie' }).first().innerText();
  ok(/% *\s+(\d{4}-\d\d-\d\d|used up|not in the period)/.test(row), 'one click shows how much is used and when it is used up', row);
  await clickLink(page, 'rrg-curie');
  const text = await mainText(page);
  ok(/At the rate of the last 30 days the allocation is used up on \d{4}-\d\d-\d\d; the period ends on|The allocation is used up: /.test(text),
    'a second one the sentence on what that means', text);
  ok(/Owners\s+daemon/.test(text) && /Radium & its salts/.test(text), 'with title and owners', text);
  ok(await page.locator('svg.progress').count() > 0, 'and a bar beside the figures');
  await clickLink(page, 'daemon');
  ok(/narval[^]*cedar|cedar[^]*narval/.test(await mainText(page)), 'a submitter opens to clusters', page.url());
  await page.locator('#months ~ .scroll tr', { hasText: month }).first().getByRole('link').last().click();
  const rows = await page.locator('tbody').first().innerText();
  ok(/daemon/.test(rows) && !/bin/.test(rows), 'and to one month of theirs', rows);
}

async function checkQuotaAndShare(page) {
  await page.goto(new URL('/web/', link).href);
  await clickLink(page, 'Quotas');
  ok(/rrg-curie[^]*Used[^]*Due by now[^]*All months of the period/.test(await mainText(page)), 'one click shows the quotas with their months', await mainText(page));
  await clickLink(page, 'Shares');
  ok(/Place \d of 5 users/.test(await mainText(page)), 'one click shows the place among all users', await mainText(page));
  ok(await page.locator('tr.own', { hasText: '(you, place' }).count() > 0, 'and the own row is marked');
}

// Figures and names of a large site: 51,119,335.0 hours of an account with a title. No column is beyond the edge of a wide window.
async function checkLargeFigures(page, name) {
  await page.goto(new URL(`/web/${name}`, link).href);
  const cut = await page.evaluate(() => {
    const large = (node) => { if (/^[0-9][0-9,.]*$/.test(node.textContent.trim())) node.textContent = '51,119,335.0'; };
    for (const cell of document.querySelectorAll('main td.figure, main td .pair')) cell.childNodes.forEach(large);
    return [...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth).map((e) => `${e.getAttribute('aria-label')}: ${e.scrollWidth} of ${e.clientWidth}`);
  });
  ok(cut.length === 0, `${name} with figures of a large site: no column is cut at 1440`, cut.join());
}

async function checkPage(page, shape, name) {
  const answer = await page.goto(new URL(`/web/${name}`, link).href);
  const title = `${name} at ${shape.name}`;
  ok(answer.status() === (name.includes('%3C') ? 404 : 200), `${title} is served`, answer.status());
  const width = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  ok(width[0] <= width[1], `${title} is no wider than the window`, width);
  const outside = await page.evaluate(() => [...document.querySelectorAll('main *')].filter((e) => !e.closest('svg') &&
    getComputedStyle(e).display !== 'inline' && getComputedStyle(e).overflowY === 'visible' && e.clientHeight > 0 && e.scrollHeight > e.clientHeight + 2)
    .map((e) => `${e.tagName}.${e.className}`));
  ok(outside.length === 0, `${title}: nothing sticks out of its box, over what follows`, outside.join());
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  ok(found.violations.length === 0, `${title}: axe-core finds nothing`,
    found.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((x) => x.html).join(' | ')}`).join('\n'));
  await page.screenshot({ path: path.join(out, `group-${shape.name}-${name.replace(/\W+/g, '_')}.png`), fullPage: true });
}

async function main() {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(link);
  await page.click('main button');
  await checkWhoUsedMost(page);
  await checkRunsOut(page);
  await checkQuotaAndShare(page);
  for (const shape of shapes) {
    const shaped = await browser.newContext({ storageState: await context.storageState(), viewport: { width: shape.width, height: 800 },
      colorScheme: shape.colorScheme, bypassCSP: true });
    const one = await shaped.newPage();
    for (const name of pages) await checkPage(one, shape, name);
    if (shape.width >= 1440) for (const name of pages) await checkLargeFigures(one, name);
    await shaped.close();
  }
  await browser.close();
  console.log(`1..${n}`);
  process.exitCode = failed ? 1 : 0;
}

main().catch((e) => {
  console.log(`Bail out! ${e.message.split('\n').slice(0, 4).join(' ')}`);
  process.exit(1); // the browser ends with it
});
