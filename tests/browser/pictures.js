// SPDX-License-Identifier: GPL-2.0-or-later
// pictures.js LINK OUT CHROMIUM [TERMINAL] - the pictures of the documents; see pictures.sh.
'use strict';
const path = require('path');
const { chromium } = require('playwright-core');

const [link, out, executablePath, terminal] = process.argv.slice(2);

async function main() {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  const page = await (await browser.newContext({ viewport: { width: 1100, height: 760 } })).newPage();
  await page.goto(link);
  await page.click('main button');
  const take = async (name, where) => {
    await page.goto(new URL(where, link).href);
    await page.screenshot({ path: path.join(out, `${name}.png`) });
  };
  await take('overview', '/web/');
  await take('jobs', '/web/jobs?state=ended');
  const open = async (name) => {
    await page.goto(new URL('/web/jobs?state=ended', link).href);
    await page.locator('tr', { hasText: name }).locator('a').first().click();
  };
  await open('many-forks');
  await page.screenshot({ path: path.join(out, 'killed-job.png') });
  await open('gpu-work');
  await page.locator('h2', { hasText: 'Use over time' }).scrollIntoViewIfNeeded();
  await page.evaluate(() => [...document.querySelectorAll('h2')].find((h) => h.textContent === 'Use over time').scrollIntoView());
  await page.screenshot({ path: path.join(out, 'use-over-time.png') });
  await take('usage', '/web/usage?start=2012-01-01&end=2013-01-01');
  if (terminal) {
    await page.goto(`file://${terminal}`);
    await page.addStyleTag({ content: 'body { margin: 8px } pre { font: 14px/1.25 monospace; margin: 0; display: inline-block }' });
    await page.locator('pre').screenshot({ path: path.join(out, 'terminal.png') });
  }
  await browser.close();
}

main().catch((e) => { console.error(e.message); process.exit(1); });
