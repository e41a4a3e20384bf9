<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- What each account may use, has used and has left, by the site's rule: a window of months, a grant, or a target. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:import href="layout.xsl"/>
<xsl:import href="storage.xsl"/>
<xsl:variable name="title">Quotas</xsl:variable>
<xsl:variable name="here">/web/quota</xsl:variable>

<xsl:template name="content">
	<xsl:if test="not(quota/quotas/item)"><p class="none">You are in no account, and coordinate none. An operator names one:</p></xsl:if>
	<xsl:if test="@operator or asked/@account">
		<form method="get" action="/web/quota" class="filter">
			<label>Account <input name="account" size="12" value="{asked/@account}"/></label>
			<button type="submit">Show</button>
		</form>
	</xsl:if>
	<xsl:apply-templates select="quota/quotas/item" mode="quota"/>
</xsl:template>

<xsl:template match="item" mode="quota">
	<section>
		<h2><xsl:value-of select="@account"/><xsl:if test="@owner"> (<xsl:value-of select="@pool"/><xsl:choose>
			<xsl:when test="@cluster != ''">, <xsl:value-of select="@cluster"/></xsl:when>
			<xsl:otherwise>, all clusters</xsl:otherwise>
		</xsl:choose>)</xsl:if></h2>
		<p class="sentence"><xsl:value-of select="@words"/></p>
		<xsl:if test="@owner and @owner != @account"><p class="note">This allocation is that of <xsl:value-of select="@owner"/>: all accounts below it count.</p></xsl:if>
		<xsl:if test="@start"><p class="note">From <xsl:value-of select="@start"/> up to <xsl:value-of select="@end"/>, not included; figures in <xsl:call-template name="amount-unit"/>.
			<a href="/web/usage?by=user&amp;account={f:encode(@owner)}&amp;start={f:encode(@start)}&amp;end={f:encode(@end)}">Who used it</a></p></xsl:if>
		<xsl:choose>
			<xsl:when test="@rule = 'grant' and @owner"><xsl:call-template name="grant"/></xsl:when>
			<xsl:when test="@rule = 'target' and @owner"><xsl:call-template name="target"/></xsl:when>
			<xsl:when test="@monthly_ms"><xsl:call-template name="window"/></xsl:when>
		</xsl:choose>
		<xsl:if test="@running_jobs + @suspended_jobs + @queued_jobs &gt; 0"><p>Of all users, <xsl:value-of select="f:count(@running_jobs)"/> running<xsl:if test="@suspended_jobs &gt; 0"> and <xsl:value-of select="f:count(@suspended_jobs)"/> suspended</xsl:if> jobs
			may still be charged <xsl:value-of select="concat(f:hours(@running_rest_ms), ' ', @unit)"/>,
			<xsl:value-of select="f:count(@queued_jobs)"/> queued ones <xsl:value-of select="concat(f:hours(@queued_ms), ' ', @unit)"/>.</p></xsl:if>
		<xsl:if test="@storage_bytes or /page/storage/storage/item[@account = current()/@account]">
			<xsl:call-template name="storage-note"><xsl:with-param name="account" select="@account"/><xsl:with-param name="allotted" select="@storage_bytes"/></xsl:call-template>
		</xsl:if>
		<xsl:if test="months/item"><xsl:call-template name="months"/></xsl:if>
		<xsl:if test="users/item"><xsl:call-template name="users"/></xsl:if>
	</section>
</xsl:template>

<!-- A target is an amount of years, so all that is compared with it is in years too; all else is in hours. -->
<xsl:template name="amount">
	<xsl:param name="ms"/>
	<xsl:choose>
		<xsl:when test="ancestor-or-self::item[@rule = 'target' and @owner]"><xsl:value-of select="f:years($ms)"/></xsl:when>
		<xsl:otherwise><xsl:value-of select="f:hours($ms)"/></xsl:otherwise>
	</xsl:choose>
</xsl:template>

<xsl:template name="amount-unit">
	<xsl:choose>
		<xsl:when test="@rule = 'target' and @owner and @pool = 'gpu'">GPU-equivalent years</xsl:when>
		<xsl:when test="@rule = 'target' and @owner">core-equivalent years</xsl:when>
		<xsl:otherwise><xsl:value-of select="@unit"/></xsl:otherwise>
	</xsl:choose>
</xsl:template>

<!-- A row of a table of amounts with bars. -->
<xsl:template name="amount-row">
	<xsl:param name="text"/>
	<xsl:param name="ms"/>
	<xsl:param name="whole"/>
	<tr><th scope="row"><xsl:value-of select="$text"/></th>
		<td><span class="pair"><xsl:call-template name="amount"><xsl:with-param name="ms" select="$ms"/></xsl:call-template></span>
			<xsl:call-template name="bar"><xsl:with-param name="part" select="$ms"/><xsl:with-param name="whole" select="$whole"/></xsl:call-template></td>
		<td class="figure"><xsl:value-of select="f:percent($ms, $whole)"/></td></tr>
</xsl:template>

<xsl:template name="grant">
	<div class="scroll" tabindex="0" role="region" aria-label="{@account}, {@pool}, {@allocation}: amounts"><table class="narrow"><caption>The grant of <xsl:value-of select="f:hours(@total_ms)"/><xsl:text> </xsl:text><xsl:value-of select="@unit"/>: used + reserved + available</caption>
		<thead><tr><th scope="col">Part</th><th scope="col"><xsl:value-of select="@unit"/></th><th scope="col" class="figure">Of the grant</th></tr></thead>
		<tbody>
			<xsl:call-template name="amount-row"><xsl:with-param name="text">Used</xsl:with-param><xsl:with-param name="ms" select="@used_ms"/><xsl:with-param name="whole" select="@total_ms"/></xsl:call-template>
			<xsl:call-template name="amount-row"><xsl:with-param name="text">Reserved</xsl:with-param><xsl:with-param name="ms" select="@reserved_ms"/><xsl:with-param name="whole" select="@total_ms"/></xsl:call-template>
			<xsl:call-template name="amount-row"><xsl:with-param name="text">Available</xsl:with-param><xsl:with-param name="ms" select="@available_ms"/><xsl:with-param name="whole" select="@total_ms"/></xsl:call-template>
		</tbody></table></div>
	<p class="note">What an hour of one cpu is charged, by queue: <xsl:for-each select="queues/item"><xsl:if test="position() &gt; 1">, </xsl:if><xsl:value-of select="@queue"/><xsl:text> </xsl:text><xsl:value-of select="@factor"/></xsl:for-each>.</p>
</xsl:template>

<xsl:template name="target">
	<div class="scroll" tabindex="0" role="region" aria-label="{@account}, {@pool}, {@allocation}: amounts"><table class="narrow"><caption>The target of <xsl:value-of select="f:years(@total_ms)"/><xsl:text> </xsl:text><xsl:call-template name="amount-unit"/> in the period</caption>
		<thead><tr><th scope="col">Part</th><th scope="col"><xsl:call-template name="amount-unit"/></th><th scope="col" class="figure">Of the target</th></tr></thead>
		<tbody>
			<xsl:call-template name="amount-row"><xsl:with-param name="text">Used</xsl:with-param><xsl:with-param name="ms" select="@used_ms"/><xsl:with-param name="whole" select="@total_ms"/></xsl:call-template>
			<xsl:call-template name="amount-row"><xsl:with-param name="text">Due by now<xsl:if test="@outage_ns">, outages left out</xsl:if></xsl:with-param><xsl:with-param name="ms" select="@due_ms"/><xsl:with-param name="whole" select="@total_ms"/></xsl:call-template>
			<xsl:if test="@projected_by_year_ms">
				<xsl:call-template name="amount-row"><xsl:with-param name="text">Projected, as in the whole period so far</xsl:with-param><xsl:with-param name="ms" select="@projected_by_year_ms"/><xsl:with-param name="whole" select="@total_ms"/></xsl:call-template>
				<xsl:call-template name="amount-row"><xsl:with-param name="text">Projected, as in the last 30 days</xsl:with-param><xsl:with-param name="ms" select="@projected_by_recent_ms"/><xsl:with-param name="whole" select="@total_ms"/></xsl:call-template>
			</xsl:if>
		</tbody></table></div>
</xsl:template>

<!-- Previous, current and next month beside each other. -->
<xsl:template name="window-row">
	<xsl:param name="text"/>
	<xsl:param name="allowance"/>
	<xsl:param name="used"/>
	<xsl:param name="word"/>
	<tr><th scope="row"><xsl:value-of select="$text"/></th>
		<td class="figure"><xsl:value-of select="f:hours($allowance)"/></td>
		<td><span class="pair"><xsl:value-of select="f:hours($used)"/><xsl:text> </xsl:text><xsl:value-of select="$word"/></span>
			<xsl:call-template name="bar"><xsl:with-param name="part" select="$used"/><xsl:with-param name="whole" select="$allowance"/></xsl:call-template></td>
		<td class="figure"><xsl:value-of select="f:percent($used, $allowance)"/></td></tr>
</xsl:template>

<xsl:template name="window">
	<dl>
		<dt>State</dt><dd><xsl:value-of select="@mode"/>: <xsl:value-of select="@why"/></dd>
		<dt>Consumable</dt><dd><xsl:value-of select="f:hours(@available_ms)"/><xsl:text> </xsl:text><xsl:value-of select="@unit"/><xsl:if test="@percentage">, <xsl:value-of select="@percentage"/> %</xsl:if></dd>
		<xsl:if test="@available_after_ms"><dt>After active jobs</dt><dd><xsl:value-of select="f:hours(@available_after_ms)"/><xsl:text> </xsl:text><xsl:value-of select="@unit"/></dd></xsl:if>
	</dl>
	<div class="scroll" tabindex="0" role="region" aria-label="{@account}, {@pool}, {@allocation}: amounts"><table class="narrow"><caption>The three months of the window</caption>
		<thead><tr><th scope="col">Month</th><th scope="col" class="figure">Allowance</th><th scope="col">Used, <xsl:value-of select="@unit"/></th><th scope="col" class="figure">Of it</th></tr></thead>
		<tbody>
			<xsl:call-template name="window-row"><xsl:with-param name="text">Previous</xsl:with-param><xsl:with-param name="allowance" select="@monthly_previous_ms"/><xsl:with-param name="used" select="@used_previous_ms"/><xsl:with-param name="word">used</xsl:with-param></xsl:call-template>
			<xsl:call-template name="window-row"><xsl:with-param name="text">Current</xsl:with-param><xsl:with-param name="allowance" select="@monthly_ms"/><xsl:with-param name="used" select="@used_month_ms"/><xsl:with-param name="word">used</xsl:with-param></xsl:call-template>
			<xsl:call-template name="window-row"><xsl:with-param name="text">Next</xsl:with-param><xsl:with-param name="allowance" select="@monthly_next_ms"/><xsl:with-param name="used" select="@borrowed_ms"/><xsl:with-param name="word">borrowed</xsl:with-param></xsl:call-template>
		</tbody></table></div>
</xsl:template>

<xsl:template name="months">
	<xsl:variable name="largest">
		<xsl:for-each select="months/item">
			<xsl:sort select="@used_ms" data-type="number" order="descending"/>
			<xsl:if test="position() = 1"><xsl:value-of select="@used_ms"/></xsl:if>
		</xsl:for-each>
	</xsl:variable>
	<div class="scroll" tabindex="0" role="region" aria-label="Months of {@account}, {@pool}, {@allocation}"><table class="narrow">
		<caption>All months of the period</caption>
		<thead><tr><th scope="col">Month</th><xsl:if test="months/item/@allowance_ms"><th scope="col" class="figure">Allowance</th></xsl:if>
			<th scope="col">Used, <xsl:call-template name="amount-unit"/></th><th scope="col" class="figure">Of <xsl:choose><xsl:when test="months/item/@allowance_ms">it</xsl:when><xsl:otherwise>all used</xsl:otherwise></xsl:choose></th></tr></thead>
		<tbody><xsl:for-each select="months/item">
			<tr><xsl:if test="@is_now"><xsl:attribute name="class">own</xsl:attribute></xsl:if>
				<th scope="row" class="pair"><xsl:value-of select="@month"/><xsl:if test="@is_now"> (now)</xsl:if></th>
				<xsl:if test="@allowance_ms"><td class="figure"><xsl:value-of select="f:hours(@allowance_ms)"/></td></xsl:if>
				<td><xsl:choose>
					<xsl:when test="@is_to_come"><span class="note">to come</span></xsl:when>
					<xsl:otherwise><span class="pair"><xsl:call-template name="amount"><xsl:with-param name="ms" select="@used_ms"/></xsl:call-template></span>
						<xsl:call-template name="bar"><xsl:with-param name="part" select="@used_ms"/><xsl:with-param name="whole"><xsl:choose>
							<xsl:when test="@allowance_ms"><xsl:value-of select="@allowance_ms"/></xsl:when>
							<xsl:otherwise><xsl:value-of select="$largest"/></xsl:otherwise>
						</xsl:choose></xsl:with-param></xsl:call-template></xsl:otherwise>
				</xsl:choose></td>
				<td class="figure"><xsl:choose>
					<xsl:when test="@is_to_come">-</xsl:when>
					<xsl:when test="@allowance_ms"><xsl:value-of select="f:percent(@used_ms, @allowance_ms)"/></xsl:when>
					<xsl:otherwise><xsl:value-of select="f:percent(@used_ms, ../../@used_ms)"/></xsl:otherwise>
				</xsl:choose></td></tr>
		</xsl:for-each></tbody>
	</table></div>
</xsl:template>

<xsl:template name="users">
	<div class="scroll" tabindex="0" role="region" aria-label="Users of {@account}, {@pool}, {@allocation}"><table class="narrow">
		<caption><xsl:choose>
			<xsl:when test="@narrowed_to">Your own part; coordinators see that of all users</xsl:when>
			<xsl:otherwise>Users</xsl:otherwise>
		</xsl:choose></caption>
		<thead><tr><th scope="col">User</th><th scope="col">Used, <xsl:call-template name="amount-unit"/></th><th scope="col" class="figure">Of all used</th>
			<th scope="col" class="figure">Running jobs</th><xsl:if test="@suspended_jobs &gt; 0"><th scope="col" class="figure">Suspended</th></xsl:if><th scope="col" class="figure">Queued jobs</th></tr></thead>
		<tbody><xsl:for-each select="users/item[position() &lt;= 50]">
			<tr><xsl:if test="@user = /page/@user"><xsl:attribute name="class">own</xsl:attribute></xsl:if>
				<th scope="row" class="name"><xsl:value-of select="@user"/><xsl:if test="@user = /page/@user"> (you)</xsl:if></th>
				<td><span class="pair"><xsl:call-template name="amount"><xsl:with-param name="ms" select="@used_ms"/></xsl:call-template></span>
					<xsl:call-template name="bar"><xsl:with-param name="part" select="@used_ms"/><xsl:with-param name="whole" select="../../@used_ms"/></xsl:call-template></td>
				<td class="figure"><xsl:value-of select="f:percent(@used_ms, ../../@used_ms)"/></td>
				<td class="figure"><xsl:value-of select="f:count(@running_jobs)"/></td><xsl:if test="../../@suspended_jobs &gt; 0"><td class="figure"><xsl:value-of select="f:count(@suspended_jobs)"/></td></xsl:if><td class="figure"><xsl:value-of select="f:count(@queued_jobs)"/></td></tr>
		</xsl:for-each></tbody>
	</table></div>
	<xsl:if test="users/item[51]"><p class="note"><xsl:value-of select="count(users/item) - 50"/> more users: <a href="/web/usage?by=user&amp;account={f:encode(@owner)}">by what they used</a></p></xsl:if>
</xsl:template>
</xsl:stylesheet>
