// SPDX-License-Identifier: GPL-2.0-or-later
// pages.js LINK OUT CHROMIUM - every page in a headless Chromium, without scripts: width, colours, keyboard, accessibility (axe-core), screenshots
// in OUT; then the way of a user from a killed job to its reason, and leaving. TAP.
'use strict';
const fs = require('fs');
const path = require('path');
const { chromium } = require('playwright-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const [link, out, executablePath] = process.argv.slice(2);
const pages = ['', 'usage', 'usage?by=cluster', 'jobs', 'jobs?state=ended', 'job/1', 'job/2', 'share', 'quota', 'queue', 'nodes', 'nothing-here'];
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

async function checkPage(page, shape, name) {
  const answer = await page.goto(new URL(`/web/${name}`, link).href);
  const title = `${name || 'overview'} at ${shape.name}`;
  ok(answer.status() === (name === 'nothing-here' ? 404 : 200), `${title} is served`, answer.status());
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
  await page.screenshot({ path: path.join(out, `${shape.name}-${name.replace(/\W+/g, '_') || 'overview'}.png`), fullPage: true });
}

async function checkShape(browser, state, shape) {
  // axe-core is a script of the test's: the pages have none, and their policy forbids any.
  const context = await browser.newContext({ storageState: state, viewport: { width: shape.width, height: 800 }, colorScheme: shape.colorScheme, bypassCSP: true });
  const page = await context.newPage();
  for (const name of pages) await checkPage(page, shape, name);
  await context.close();
}

// Tab by tab: each stop is visible, and the first one leads to the content.
async function checkKeyboard(page) {
  await page.goto(new URL('/web/jobs', link).href);
  await page.keyboard.press('Tab');
  ok(await page.evaluate(() => document.activeElement.className) === 'skip', 'the first stop of the keyboard leads to the content');
  const stops = [];
  for (let i = 0; i < 14; i += 1) {
    await page.keyboard.press('Tab');
    stops.push(await page.evaluate(() => {
      const box = document.activeElement.getBoundingClientRect();
      return box.width > 0 && box.height > 0 ? document.activeElement.textContent.trim() : null;
    }));
  }
  ok(stops.every((s) => s !== null), 'every stop is visible', JSON.stringify(stops));
  ok(stops.includes('Usage') && stops.includes('Leave'), 'pages and leaving are reached by keyboard', JSON.stringify(stops));
}

// A table is sorted by the links of its head, back and forth.
async function checkSorting(page) {
  await page.goto(new URL('/web/nodes', link).href);
  const names = async () => page.locator('[aria-label="Nodes"] tbody th').allInnerTexts();
  await page.getByRole('link', { name: 'Node', exact: true }).click();
  ok((await names()).join() === 'n1,n2,n3', 'a click on a column of names sorts by name', (await names()).join());
  await page.getByRole('link', { name: 'Node', exact: true }).click();
  ok((await names()).join() === 'n3,n2,n1', 'a second one the other way round', (await names()).join());
  ok(await page.locator('th[aria-sort="descending"]').count() === 1, 'and the head says which way');
  await page.goto(new URL('/web/jobs?account=physics', link).href);
  await page.getByRole('link', { name: 'Job', exact: true }).click();
  await page.getByRole('link', { name: 'Job', exact: true }).click();
  const jobs = await page.locator('main .scroll tbody th').allInnerTexts();
  ok(jobs.join() === '9,8,7,6,5,4,3,2,1', 'jobs are sorted as numbers, and the filter stays', jobs.join());
}

// What a user does whose job was killed: from the overview, by links alone.
async function checkKilled(page) {
  await page.goto(new URL('/web/', link).href);
  await page.getByRole('link', { name: 'All ended jobs' }).click();
  const row = page.locator('tr', { hasText: 'killed: vmem limit' }).first();
  await row.getByRole('link').first().click();
  const text = await page.locator('main').innerText();
  ok(/vmem limit exceeded on n1/.test(text), 'three clicks lead from the overview to why a job was killed', text);
  ok(/requested 8.00 GiB, reached 8.09 GiB/.test(text), 'with the request, and what it reached', text);
}

async function main() {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  const context = await browser.newContext({ javaScriptEnabled: true });
  const page = await context.newPage();
  const problems = [];
  page.on('console', (m) => problems.push(m.text()));
  page.on('requestfailed', (r) => problems.push(r.url()));
  await page.goto(link);
  await page.click('main button');
  ok(new URL(page.url()).pathname === '/web/', 'the link of reeve web leads to the overview', page.url());
  const state = await context.storageState();
  ok(await page.evaluate(() => document.cookie) === '', 'a script sees no cookie');
  for (const shape of shapes) await checkShape(browser, state, shape);
  await checkKeyboard(page);
  await checkSorting(page);
  await checkKilled(page);
  await page.getByRole('button', { name: 'Leave' }).click();
  ok(/reeve web/.test(await page.locator('main').innerText()), 'leaving shows how to enter again');
  await page.goBack();
  ok(!/killed/.test(await page.locator('body').innerText()), 'and going back shows nothing of before');
  ok(problems.filter((p) => !/401|404/.test(p)).length === 0, 'the browser had nothing to complain about', problems.join('\n'));
  await browser.close();
  console.log(`1..${n}`);
  process.exitCode = failed ? 1 : 0;
}

main().catch((e) => {
  console.log(`Bail out! ${e.message.split('\n')[0]}`);
  process.exit(1); // the browser ends with it
});
