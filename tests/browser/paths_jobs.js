// SPDX-License-Identifier: GPL-2.0-or-later
// paths_jobs.js LINK OUT CHROMIUM - what a user asks of the pages of jobs, answered by clicks from the overview, without scripts: why was my job killed,
// what to request next, why does my job wait, what does this queue cost against that one, which cores does it have, how busy is the cluster. Each page that is
// met is checked for width, colours and accessibility (axe-core); screenshots in OUT. TAP.
'use strict';
const fs = require('fs');
const path = require('path');
const { chromium } = require('playwright-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const [link, out, executablePath] = process.argv.slice(2);
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

const text = (page) => page.locator('main').innerText();
const go = (page, to) => page.goto(new URL(to, link).href);
const follow = (page, name) => page.getByRole('link', { name, exact: true }).first().click();

async function checkKilled(page) {
  await go(page, '/web/');
  await follow(page, 'Jobs');
  await page.getByLabel('State').selectOption('ended');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.locator('tr', { hasText: 'killed: vmem limit' }).first().getByRole('link').first().click();
  const shown = await text(page);
  ok(/vmem limit exceeded on n1/.test(shown), 'why was my job killed: its page begins with the reason', shown);
  ok(/requested 8.00 GiB, reached 8.09 GiB/.test(shown), 'with the request, and what it reached', shown);
  ok(/What to request next[\s\S]*vmem/.test(shown), 'what to request next: the same page advises it', shown);
  ok(/memory\s+8.00 GiB\s+3.73 GiB\s+2.147\s/.test(shown), 'with figures of three places', shown);
  ok(/Data as of [-0-9: ]+ \([A-Z][A-Za-z/_]+\)/.test(await page.locator('footer').innerText()), 'and the zone of its times', shown);
  ok(/Sets the charge[\s\S]*yes: the largest/.test(shown), 'what it cost: which resource set the charge', shown);
}

// What a row says is read on a telephone without moving the table.
async function checkSentences(page) {
  await page.setViewportSize({ width: 320, height: 800 });
  for (const name of ['', 'jobs', 'jobs?state=ended', 'queue']) {
    await go(page, `/web/${name}`);
    const boxes = await page.locator('td.end > div').evaluateAll((all) => all.map((e) => {
      const box = e.getBoundingClientRect();
      return [Math.round(box.left), Math.round(box.right), e.scrollWidth <= e.clientWidth + 1];
    }));
    ok(boxes.length > 0 && boxes.every((b) => b[0] >= 0 && b[1] <= 320 && b[2]), `${name || 'overview'} at 320: the sentence below a row is in the window`,
      JSON.stringify(boxes));
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}

async function checkQueues(page) {
  await go(page, '/web/');
  await follow(page, 'Jobs');
  await page.locator('tbody th').getByRole('link', { name: '1', exact: true }).click();
  const own = await page.locator('tr', { hasText: '(this job)' }).innerText();
  const other = await page.locator('[aria-label="Price by queue"] tr', { hasText: 'express' }).innerText();
  ok(/normal/.test(own), 'what does this queue cost against that one: its own queue is marked', own);
  ok(/\b3\b/.test(other), 'and the other one has its factor and price', other);
}

// How a job's use went: sentences, charts on one scale of time, and the same points as a table that opens by keyboard.
async function checkTimeline(page) {
  await go(page, '/web/job/1');
  const shown = await text(page);
  ok(/Use over time/.test(shown), 'when was my job idle: its page has its use over time', shown);
  ok(/Cores in use: at most 3.[\d]+, [\d.]+ on average, 4 requested/.test(shown), 'how much memory and how many cores, in words', shown);
  ok(/Suspended for 0:09:20/.test(shown) && /not measured/.test(shown), 'for how long it was suspended, and that some was not measured', shown);
  const fields = await page.locator('.plot .field').evaluateAll((all) => all.map((f) => {
    const box = f.getBoundingClientRect();
    return [Math.round(box.left), Math.round(box.width), Math.round(box.height)];
  }));
  ok(fields.length === 4 && new Set(fields.map((f) => `${f[0]} ${f[1]}`)).size === 1 && fields[0][1] > 600 && fields[0][2] > 60,
    'its four charts have one scale of time', JSON.stringify(fields));
  for (const width of [1280, 320]) {
    await page.setViewportSize({ width, height: 800 });
    const texts = await page.locator('.plot').first().locator('.times text:visible').evaluateAll((all) => all.map((t) => {
      const box = t.getBoundingClientRect();
      return { text: t.textContent, left: box.left, right: box.right };
    }));
    ok(texts.length >= 2 && texts.every((t, i) => !i || t.left > texts[i - 1].right), `the times below do not overlap at ${width}`, JSON.stringify(texts));
  }
  await page.getByText('points as a table').focus();
  await page.keyboard.press('Enter');
  ok(await page.locator('[aria-label="Points"] tbody tr').count() === 100, 'the points are a table too', await text(page));
  ok(await page.locator('[aria-label="Points"]').isVisible(), 'which opens by keyboard');
}

async function checkWaits(page) {
  await go(page, '/web/');
  await follow(page, 'Queue');
  const queue = await text(page);
  ok(/fairshare/.test(queue), 'why does my job wait: the queue has the factors', queue);
  await page.locator('tbody tr').first().getByRole('link').click();
  const job = await text(page);
  ok(/needs|next in the queue|waits|cores/.test(job), 'and the page of the job says why', job);
  ok(/Estimated start/.test(job), 'and when it starts at the latest', job);
}

async function checkSearch(page) {
  await go(page, '/web/jobs');
  await page.getByLabel('Part of the name').focus();
  await page.keyboard.type('NOTHING');
  await Promise.all([page.waitForURL(/name=NOTHING/), page.keyboard.press('Enter')]);
  ok(/No job matches/.test(await text(page)), 'a search is typed and sent by keyboard alone', await text(page));
  await follow(page, 'Show all');
  ok(await page.locator('tbody tr').count() > 5, 'and taken back by a link');
}

async function checkNodes(page) {
  await go(page, '/web/');
  await follow(page, 'Nodes');
  ok(await page.locator('svg.cores rect:not(.whole)').count() > 0, 'a node shows which cores have jobs');
  await page.locator('.map').getByRole('link').first().click();
  ok(/Job/.test(await page.locator('h1').innerText()), 'and the jobs on them are links');
  await follow(page, 'Cluster');
  const cluster = await text(page);
  ok(/of all core time was charged|No whole day/.test(cluster), 'the cluster has its use by day', cluster);
}

async function checkLook(browser, state) {
  const shapes = [[320, 'light'], [768, 'dark'], [1440, 'light'], [1440, 'dark']];
  for (const [width, colorScheme] of shapes) {
    const context = await browser.newContext({ storageState: state, viewport: { width, height: 800 }, colorScheme, bypassCSP: true });
    const page = await context.newPage();
    for (const name of ['cluster', 'jobs?queue=normal', 'job/1', 'job/2', 'job/9', 'queue', 'nodes', 'nodes?node=n1']) {
      await go(page, `/web/${name}`);
      const wide = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
      await page.evaluate(axe);
      const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
      ok(wide[0] <= wide[1] && found.violations.length === 0, `${name} at ${width} ${colorScheme}: fits, and axe-core finds nothing`,
        `${wide} ${found.violations.map((v) => `${v.id}: ${v.nodes.map((x) => x.html).join(' | ')}`).join('\n')}`);
      await page.screenshot({ path: path.join(out, `jobs-${width}-${colorScheme}-${name.replace(/\W+/g, '_')}.png`), fullPage: true });
    }
    await context.close();
  }
}

async function main() {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  const context = await browser.newContext({ javaScriptEnabled: true });
  const page = await context.newPage();
  await page.goto(link);
  await page.click('main button');
  const state = await context.storageState();
  for (const check of [checkKilled, checkSentences, checkQueues, checkTimeline, checkWaits, checkSearch, checkNodes]) await check(page);
  const plain = await browser.newContext({ storageState: state, javaScriptEnabled: false });
  await checkKilled(await plain.newPage());
  await checkTimeline(await plain.newPage());
  await checkLook(browser, state);
  await browser.close();
  console.log(`1..${n}`);
  process.exitCode = failed ? 1 : 0;
}

main().catch((e) => {
  console.log(`Bail out! ${e.message.split('\n')[0]}`);
  process.exit(1); // the browser ends with it
});
