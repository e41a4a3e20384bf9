<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- What the cluster could compute on each day, and what of it was charged; who used most; how long jobs waited. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:import href="layout.xsl"/>
<xsl:variable name="title">Cluster</xsl:variable>
<xsl:variable name="here">/web/cluster</xsl:variable>

<xsl:template name="content">
	<xsl:variable name="u" select="utilisation"/>
	<form method="get" action="/web/cluster" class="filter" role="search" aria-label="Period">
		<label>From <input type="date" name="start" value="{$u/@start}"/></label>
		<label>to before <input type="date" name="end" value="{$u/@end}"/></label>
		<xsl:if test="count(clusters/clusters/item) &gt; 1"><label>Cluster
			<select name="cluster"><option value="">all</option>
				<xsl:for-each select="clusters/clusters/item"><option value="{@cluster}"><xsl:if test="@cluster = /page/asked/@cluster"><xsl:attribute name="selected">selected</xsl:attribute></xsl:if><xsl:value-of select="@cluster"/></option></xsl:for-each>
			</select></label></xsl:if>
		<button type="submit">Show</button>
	</form>
	<p><xsl:if test="$u/days/item[@recorded = 'true']"><strong><xsl:value-of select="f:percent(sum($u/days/item[@recorded = 'true']/cores/@charged_ms), sum($u/days/item[@recorded = 'true']/cores/@all_ms))"/></strong>
	of all core time was charged.
	<xsl:if test="$u/days/item/gpus/@all_ms &gt; 0">Of all GPU time: <strong><xsl:value-of select="f:percent(sum($u/days/item[@recorded = 'true']/gpus/@charged_ms), sum($u/days/item[@recorded = 'true']/gpus/@all_ms))"/></strong>.</xsl:if></xsl:if>
	<xsl:if test="not($u/days/item[@recorded = 'true'])">No whole day of this period was recorded.</xsl:if>
	<xsl:choose>
		<xsl:when test="not($u/@nodes_since)"> No node has reported yet: what was free, drained or down is not known.</xsl:when>
		<xsl:when test="$u/days/item[@recorded = 'false']"> What was free, drained or down is recorded since <xsl:value-of select="$u/@nodes_since"/>, and not known of the days before.</xsl:when>
	</xsl:choose></p>
	<xsl:call-template name="days"><xsl:with-param name="kind">cores</xsl:with-param><xsl:with-param name="text">Core-hours</xsl:with-param></xsl:call-template>
	<xsl:if test="$u/days/item/gpus/@all_ms &gt; 0"><xsl:call-template name="days"><xsl:with-param name="kind">gpus</xsl:with-param><xsl:with-param name="text">GPU-hours</xsl:with-param></xsl:call-template></xsl:if>
	<xsl:call-template name="waits"/>
	<xsl:call-template name="top"/>
</xsl:template>

<xsl:template name="days">
	<xsl:param name="kind"/>
	<xsl:param name="text"/>
	<xsl:variable name="days" select="/page/utilisation/days/item"/>
	<xsl:variable name="max"><xsl:for-each select="$days/*[name() = $kind]/@all_ms"><xsl:sort data-type="number" order="descending"/><xsl:if test="position() = 1"><xsl:value-of select="."/></xsl:if></xsl:for-each></xsl:variable>
	<h2><xsl:value-of select="$text"/> by day</h2>
	<xsl:if test="$max &gt; 0">
		<figure>
		<svg class="stack" viewBox="0 0 {10 * count($days)} 100" preserveAspectRatio="none" role="img" aria-label="{$text} by day; the table below has the figures">
			<xsl:for-each select="$days">
				<xsl:variable name="x" select="10 * (position() - 1) + 1"/>
				<xsl:variable name="d" select="*[name() = $kind]"/>
				<xsl:variable name="charged" select="100 * $d/@charged_ms div $max"/>
				<xsl:variable name="free" select="100 * $d/@free_ms div $max"/>
				<xsl:variable name="drained" select="100 * $d/@drained_ms div $max"/>
				<xsl:variable name="down" select="100 * $d/@down_ms div $max"/>
				<rect class="charged" x="{$x}" width="8" y="{format-number(100 - $charged, '0.##')}" height="{format-number($charged, '0.##')}"/>
				<rect class="free" x="{$x}" width="8" y="{format-number(100 - $charged - $free, '0.##')}" height="{format-number($free, '0.##')}"/>
				<rect class="drained" x="{$x}" width="8" y="{format-number(100 - $charged - $free - $drained, '0.##')}" height="{format-number($drained, '0.##')}"/>
				<rect class="down" x="{$x}" width="8" y="{format-number(100 - $charged - $free - $drained - $down, '0.##')}" height="{format-number($down, '0.##')}"/>
			</xsl:for-each>
		</svg>
		<figcaption><xsl:value-of select="$text"/> of each day from <xsl:value-of select="$days[1]/@day"/> to <xsl:value-of select="$days[last()]/@day"/>; full height: <xsl:value-of select="f:hours($max)"/> a day
			<ul class="legend"><li class="key charged">charged</li><li class="key free">free</li><li class="key drained">drained</li><li class="key down">down</li></ul></figcaption>
		</figure>
	</xsl:if>
	<div class="scroll" tabindex="0" role="region" aria-label="{$text} by day"><table class="narrow">
		<thead><tr><th scope="col">Day</th><th scope="col" class="figure">Charged</th><th scope="col" class="figure">Free</th><th scope="col" class="figure">Drained</th><th scope="col" class="figure">Down</th><th scope="col" class="figure">Charged of all</th></tr></thead>
		<tbody><xsl:for-each select="$days[@recorded = 'true' or */@all_ms &gt; 0]">
			<xsl:sort select="@day" order="descending"/>
			<xsl:variable name="d" select="*[name() = $kind]"/>
			<tr><th scope="row"><xsl:value-of select="@day"/></th>
			<td class="figure"><xsl:value-of select="f:hours($d/@charged_ms)"/></td>
			<xsl:choose>
				<xsl:when test="@recorded = 'true' or $d/@all_ms &gt; $d/@charged_ms">
					<td class="figure"><xsl:value-of select="f:hours($d/@free_ms)"/></td><td class="figure"><xsl:value-of select="f:hours($d/@drained_ms)"/></td><td class="figure"><xsl:value-of select="f:hours($d/@down_ms)"/></td>
					<td class="figure"><xsl:value-of select="f:percent($d/@charged_ms, $d/@all_ms)"/><xsl:if test="@recorded = 'false'"> (part of the day)</xsl:if></td>
				</xsl:when>
				<xsl:otherwise><td colspan="4" class="none">not recorded</td></xsl:otherwise>
			</xsl:choose></tr>
		</xsl:for-each></tbody>
	</table></div>
	<xsl:if test="$days[@recorded = 'false' and not(*/@all_ms &gt; 0)]"><p class="note">Days without a row: nothing was charged, and nodes were not recorded.</p></xsl:if>
</xsl:template>

<xsl:template name="waits">
	<h2 id="waits">Waits by size</h2>
	<xsl:choose>
		<xsl:when test="sum(/page/utilisation/waits/item/@jobs) = 0"><p class="none">No job started in this period since waits are recorded.</p></xsl:when>
		<xsl:otherwise>
			<div class="scroll" tabindex="0" role="region" aria-label="Waits by size"><table class="narrow">
				<thead><tr><th scope="col">Cores</th><th scope="col" class="figure">Jobs started</th><th scope="col" class="figure">Half of them waited at most</th><th scope="col" class="figure">90 % at most</th></tr></thead>
				<tbody><xsl:for-each select="/page/utilisation/waits/item[@jobs &gt; 0]"><tr>
					<th scope="row"><xsl:value-of select="@cores_from"/><xsl:choose><xsl:when test="not(@cores_to)"> and more</xsl:when><xsl:when test="@cores_to != @cores_from"> to <xsl:value-of select="@cores_to"/></xsl:when></xsl:choose></th>
					<td class="figure"><xsl:value-of select="f:count(@jobs)"/></td><td class="figure"><xsl:value-of select="f:duration(@median_s)"/></td><td class="figure"><xsl:value-of select="f:duration(@p90_s)"/></td>
				</tr></xsl:for-each></tbody>
			</table></div>
			<p class="note">From when neither hold nor dependency kept a job back to its first start. Waits beyond 16 s are counted in steps of an eighth, and rounded up.</p>
		</xsl:otherwise>
	</xsl:choose>
</xsl:template>

<xsl:template name="top">
	<xsl:variable name="all" select="sum(/page/utilisation/days/item/cores/@charged_ms)"/>
	<xsl:if test="/page/utilisation/accounts/item">
		<h2 id="accounts">Top accounts</h2>
		<div class="scroll" tabindex="0" role="region" aria-label="Top accounts"><table class="narrow">
			<thead><tr><th scope="col">Account</th><th scope="col" class="figure">Core-hours</th><th scope="col">Of all that were charged</th><th scope="col" class="figure">GPU-hours</th></tr></thead>
			<tbody><xsl:for-each select="/page/utilisation/accounts/item"><tr>
				<th scope="row" class="name"><a href="/web/usage?account={f:encode(@account)}"><xsl:value-of select="@account"/></a></th><td class="figure"><xsl:value-of select="f:hours(@core_ms)"/></td>
				<td><span class="pair"><xsl:value-of select="f:percent(@core_ms, $all)"/></span><xsl:call-template name="bar"><xsl:with-param name="part" select="@core_ms"/><xsl:with-param name="whole" select="$all"/></xsl:call-template></td>
				<td class="figure"><xsl:value-of select="f:hours(@gpu_ms)"/></td></tr></xsl:for-each></tbody>
		</table></div>
	</xsl:if>
	<xsl:if test="/page/utilisation/users/item">
		<h2 id="waste">Most idle core time</h2>
		<div class="scroll" tabindex="0" role="region" aria-label="Most idle core time"><table class="narrow">
			<thead><tr><th scope="col">User</th><th scope="col" class="figure">Idle core-hours</th><th scope="col">Of theirs</th><th scope="col" class="figure">Core-hours</th></tr></thead>
			<tbody><xsl:for-each select="/page/utilisation/users/item"><tr>
				<th scope="row" class="name"><a href="/web/jobs?user={f:encode(@user)}&amp;state=ended"><xsl:value-of select="@user"/></a></th><td class="figure"><xsl:value-of select="f:hours(@idle_core_ms)"/></td>
				<td><span class="pair"><xsl:value-of select="f:percent(@idle_core_ms, @core_ms)"/></span><xsl:call-template name="bar"><xsl:with-param name="part" select="@idle_core_ms"/><xsl:with-param name="whole" select="@core_ms"/></xsl:call-template></td>
				<td class="figure"><xsl:value-of select="f:hours(@core_ms)"/></td></tr></xsl:for-each></tbody>
		</table></div>
	</xsl:if>
</xsl:template>
</xsl:stylesheet>
